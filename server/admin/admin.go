// Package admin serves metrics, liveness, readiness and profiles over plain HTTP.
package admin

import (
	"context"
	"io"
	"net/http"
	"net/http/pprof"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Settings configures the endpoints.
type Settings struct {
	Metrics prometheus.Gatherer
	// Ready returns why the server is not ready, or nil. It is called concurrently.
	Ready func(context.Context) error
	// Pprof also serves /debug/pprof.
	Pprof bool
}

// Handler returns the endpoints: /metrics; /healthz, always 200; /readyz, 503 with the reason unless the server is ready.
func Handler(s Settings) http.Handler {
	mux := http.NewServeMux()
	// Prometheus requests OpenMetrics if it stores exemplars, which are the traces of calls in the histograms.
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := s.Ready(r.Context()); err != nil {
			respond(w, http.StatusServiceUnavailable, "not ready: "+err.Error())
			return
		}
		respond(w, http.StatusOK, "ok")
	})
	if s.Pprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

func respond(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n")
}
