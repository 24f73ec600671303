package extender

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/stowage-scheduler/stowage/clients/quantity"
)

// Limits bound one request.
type Limits struct {
	// Bytes is the maximum size of a body.
	Bytes int64
	// Duration is the deadline of a request. kube-scheduler waits 5 s by default.
	Duration time.Duration
}

// Handler serves the verbs as POST /filter, /prioritize, /bind and /preempt.
func (e *Extender) Handler(l Limits) http.Handler {
	mux := http.NewServeMux()
	serve(mux, e, l, "filter", e.Filter, func(err error) *extenderv1.ExtenderFilterResult {
		return &extenderv1.ExtenderFilterResult{NodeNames: &[]string{}, Error: err.Error()}
	})
	serve(mux, e, l, "prioritize", e.Prioritize, nil)
	serve(mux, e, l, "bind", e.Bind, func(err error) *extenderv1.ExtenderBindingResult {
		return &extenderv1.ExtenderBindingResult{Error: err.Error()}
	})
	serve(mux, e, l, "preempt", e.Preempt, nil)
	return mux
}

// Connected is the ConnState hook of an HTTP server. It counts connections.
func (e *Extender) Connected(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		e.metrics.connected(context.Background())
	}
}

// readOptions decode as encoding/json does, but refuse quantities that would take hours to parse.
var readOptions = jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(), jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(quantity.Decode)))

// serve serves a verb; failed wraps an error in a result, nil if the verb has no field for it.
func serve[A, R any](mux *http.ServeMux, e *Extender, l Limits, verb string, answer func(context.Context, *A) (R, error), failed func(error) R) {
	mux.HandleFunc("POST /"+verb, func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(withVerb(r.Context(), verb), l.Duration)
		defer cancel()
		var args A
		if err := jsonv2.UnmarshalRead(http.MaxBytesReader(w, r.Body, l.Bytes), &args, readOptions); err != nil {
			code := http.StatusBadRequest
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				code = http.StatusRequestEntityTooLarge
			}
			e.log.Error("cannot read a request", "verb", verb, "error", err)
			e.metrics.done(ctx, verb, "error", began)
			http.Error(w, err.Error(), code)
			return
		}
		out, err := answer(ctx, &args)
		result := "ok"
		if err != nil {
			result = "error"
			level := e.log.Warn
			if errors.Is(err, errWithNodes) {
				level = e.log.Error
			}
			level("a request failed", "verb", verb, "error", err)
			if failed == nil {
				e.metrics.done(ctx, verb, result, began)
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			out = failed(err)
		}
		e.metrics.done(ctx, verb, result, began)
		if err := send(w, out); err != nil {
			e.log.Debug("cannot send a response", "verb", verb, "error", err)
		}
	})
}

// send sets Content-Length. kube-scheduler does not read a response to its end (pkg/scheduler/extender.go send, v1.37), so
// it can reuse the connection only if it knows the length.
func send(w http.ResponseWriter, out any) error {
	text, err := json.Marshal(out)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, err = w.Write(text)
	return err
}
