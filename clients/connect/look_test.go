package connect

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The API server does not bind at first, and what was decided does not hold any more when the client tries again.
func TestARequestIsLookedAtEachTimeThatItIsSent(t *testing.T) {
	for status, unclear := range map[int]bool{http.StatusTooManyRequests: false, http.StatusServiceUnavailable: true} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(status)
			}))
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			Looking(config)
			api, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			outdated, looks := errors.New("out of date"), 0
			ctx, look := WithLook(t.Context(), func() error {
				if looks++; looks > 2 {
					return outdated
				}
				return nil
			})
			err = api.CoreV1().Pods("default").Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, metav1.CreateOptions{})
			if !errors.Is(err, outdated) {
				t.Errorf("the error is %v", err)
			}
			if asked.Load() != 2 {
				t.Errorf("it was sent %d times", asked.Load())
			}
			if got := look.Unclear(); (got != nil) != unclear {
				t.Errorf("what became of it is unclear: %v", got)
			}
		})
	}
}
