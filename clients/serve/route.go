package serve

import (
	"fmt"
	"net/http"

	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// routed serves the paths of a mux, and writes the mux's own refusals, which are text, as problems.
func routed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		own := &refusal{header: http.Header{}}
		h.ServeHTTP(own, r)
		if own.status != http.StatusMethodNotAllowed {
			refuse(w, own.status, 0, verbs.Problem{Detail: "there is no such path; /openapi.json lists all"})
			return
		}
		allow := own.header.Get("Allow")
		w.Header().Set("Allow", allow)
		refuse(w, own.status, 0, verbs.Problem{Detail: fmt.Sprintf("the HTTP method has to be %s", allow)})
	})
}

// refusal is the response of a handler that refuses, without its text.
type refusal struct {
	header http.Header
	status int
}

func (r *refusal) Header() http.Header         { return r.header }
func (r *refusal) WriteHeader(status int)      { r.status = status }
func (r *refusal) Write(b []byte) (int, error) { return len(b), nil }

// sameOrigin refuses requests that a browser sends for a page of another origin.
func sameOrigin(next http.Handler) http.Handler {
	p := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := p.Check(r); err != nil {
			refuse(w, http.StatusForbidden, 0, verbs.Problem{Detail: err.Error()})
			return
		}
		next.ServeHTTP(w, r)
	})
}
