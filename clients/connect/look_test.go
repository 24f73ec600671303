package batch

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

// The API server has too much to do at first, and what was decided does not hold any more when the client tries again.
func TestABindingIsLookedAtEachTimeThatItIsSent(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	looking(config)
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	err = api.CoreV1().Pods("default").Bind(withLook(t.Context(), func() error {
		if looks++; looks > 2 {
			return errOutdated
		}
		return nil
	}), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, metav1.CreateOptions{})
	if !errors.Is(err, errOutdated) {
		t.Errorf("the error is %v", err)
	}
	if asked.Load() != 2 {
		t.Errorf("it was sent %d times", asked.Load())
	}
}
