package admin_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stowage-scheduler/stowage/server/admin"
)

func TestEndpoints(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "questions_total", Help: "Questions."}))
	for _, test := range []struct {
		name, method, path string
		ready, pprof       bool
		code               int
		body               string
	}{
		{"metrics", "GET", "/metrics", true, false, 200, "questions_total 0"},
		{"healthy", "GET", "/healthz", true, false, 200, "ok"},
		{"healthy though not ready", "GET", "/healthz", false, false, 200, "ok"},
		{"ready", "GET", "/readyz", true, false, 200, "ok"},
		{"not ready", "GET", "/readyz", false, false, 503, "not ready: it is stopping"},
		{"no profiles unless asked for", "GET", "/debug/pprof/", true, false, 404, ""},
		{"profiles", "GET", "/debug/pprof/", true, true, 200, "goroutine"},
		{"only reading", "POST", "/readyz", true, false, 405, ""},
		{"nothing else", "GET", "/", true, true, 404, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := admin.Handler(admin.Settings{
				Metrics: registry, Ready: func(context.Context) error {
					if !test.ready {
						return errors.New("it is stopping")
					}
					return nil
				}, Pprof: test.pprof,
			})
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(test.method, test.path, http.NoBody))
			if w.Code != test.code || !strings.Contains(w.Body.String(), test.body) {
				t.Errorf("got %d %q, want %d with %q", w.Code, w.Body, test.code, test.body)
			}
		})
	}
}
