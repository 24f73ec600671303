package extender

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A caller that is no kube-scheduler must not keep a core busy for hours.
func TestQuantitiesThatTakeHoursToParse(t *testing.T) {
	w := start(t, Options{}, makeNode("a", "z1"))
	h := w.Handler(Limits{Bytes: 1 << 21, Duration: time.Minute})
	for _, verb := range []string{"filter", "prioritize", "preempt"} {
		for _, amount := range []string{`"1e99999999"`, `1e-2147483647`, `"` + strings.Repeat("9", 1<<20) + `"`} {
			body := `{"Pod":{"spec":{"containers":[{"resources":{"requests":{"cpu":` + amount + `}}}]}},"NodeNames":["a"]}`
			out := httptest.NewRecorder()
			h.ServeHTTP(out, httptest.NewRequest(http.MethodPost, "/"+verb, strings.NewReader(body)))
			if out.Code != http.StatusBadRequest || !strings.Contains(out.Body.String(), "/Pod/spec/containers/0/resources/requests/cpu") {
				t.Errorf("%s: %.20s: %d %s", verb, amount, out.Code, out.Body)
			}
		}
	}
}
