package extender

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// kube-scheduler decodes an answer and closes it without reading to its end (pkg/scheduler/extender.go send, v1.37). The
// connection must be reusable nevertheless, however large the answer is.
func TestConnectionsAreUsedAgain(t *testing.T) {
	w := start(t, Options{})
	var names []string
	for i := range 1000 { // answers of more than the 2 KB up to which the HTTP server knows the length
		names = append(names, fmt.Sprintf("node-%d", i))
	}
	dialled := 0
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			dialled++
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}}}
	defer client.CloseIdleConnections()
	body, err := json.Marshal(&extenderv1.ExtenderArgs{Pod: makePod("p", "p"), NodeNames: &names})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		r, err := client.Post(w.http.URL+"/filter", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var out extenderv1.ExtenderFilterResult
		if err := json.NewDecoder(r.Body).Decode(&out); err != nil || len(out.FailedAndUnresolvableNodes) != len(names) {
			t.Fatalf("%v, %v", out, err)
		}
		r.Body.Close()
	}
	if dialled != 1 {
		t.Errorf("%d connections for 20 answers", dialled)
	}
}
