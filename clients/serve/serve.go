// Package serve answers questions about Kubernetes objects over HTTP: the objects are the body of a request, as kubectl prints them or as
// manifests have them, and the answer is the document that the command stowage prints for them.
package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/answer/schema"
	"github.com/stowage-scheduler/stowage/clients/page"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// Options bound what requests take.
type Options struct {
	// MaximumBody bounds the body of a request, and what it unpacks to.
	MaximumBody int64
	// MaximumBodies bounds the bodies of all requests that are answered at a time. Others wait for up to MaximumWait.
	MaximumBodies int64
	MaximumWait   time.Duration
	// MaximumReceive bounds how long a body may take to arrive: others wait for its room.
	MaximumReceive time.Duration
	// MaximumTime bounds a request, from its first byte to the last one of its answer.
	MaximumTime time.Duration
}

// Defaults are the options for a machine with 2 GiB of memory: objects take some eight times their text.
func Defaults() Options {
	return Options{MaximumBody: 128 << 20, MaximumBodies: 128 << 20, MaximumWait: 5 * time.Second, MaximumReceive: 30 * time.Second, MaximumTime: 5 * time.Minute}
}

// ExitStatus is the header with the exit status of the command: 0 for a yes, 1 for a no, 3 if kube-scheduler might decide otherwise.
const ExitStatus = "Stowage-Exit-Status"

type server struct {
	Options
	answerer verbs.Answerer
	bodies   *semaphore.Weighted
}

// NewHandler returns a handler with a path for each verb.
func NewHandler(a verbs.Answerer, o Options) (http.Handler, error) {
	s := &server{Options: o, answerer: a, bodies: semaphore.NewWeighted(o.MaximumBodies)}
	description, err := openAPI(a.Verbs())
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, v := range a.Verbs() {
		mux.HandleFunc("POST /v1/"+v.Name, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, &v) })
		text, err := schema.Of(v.Name)
		if err != nil {
			return nil, err
		}
		mux.HandleFunc("GET /schemas/"+v.Name+".json", document("application/schema+json", text))
	}
	mux.HandleFunc("GET /openapi.json", document("application/json", description))
	for _, path := range page.Paths() {
		if path == "/" {
			path = "/{$}" // that path alone
		}
		mux.Handle("GET "+path, page.Handler())
	}
	mux.HandleFunc("GET /healthz", document("text/plain; charset=utf-8", []byte("ok\n")))
	return hardened(sameOrigin(routed(mux))), nil
}

// hardened sets the headers of all answers: answers that are pages need no script and nothing of another origin. The page sets its own policy.
func hardened(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func document(contentType string, text []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(text)
	}
}

// contentTypes are the types of the formats of an answer. Others are text.
var contentTypes = map[string]string{
	"json": "application/json", "yaml": "application/yaml", "html": "text/html; charset=utf-8", "svg": "image/svg+xml",
}

// answer answers a question.
func (s *server) answer(w http.ResponseWriter, r *http.Request, v *verbs.Verb) {
	ctx, cancel := context.WithTimeout(r.Context(), s.MaximumTime)
	defer cancel()
	deadline, _ := ctx.Deadline()
	control := http.NewResponseController(w)
	received := time.Now().Add(s.MaximumReceive)
	if deadline.Before(received) {
		received = deadline
	}
	if err := errors.Join(control.SetReadDeadline(received), control.SetWriteDeadline(deadline)); err != nil {
		refuse(w, http.StatusInternalServerError, verbs.Problem{Detail: err.Error()})
		return
	}
	body := &arrival{ReadCloser: r.Body, ended: func() { _ = control.SetReadDeadline(deadline) }}
	r.Body = body
	c, done, err := s.read(ctx, w, r, v)
	defer done()
	if err != nil {
		s.fail(w, body, err)
		return
	}
	if len(c.Values["output"]) == 0 {
		c.Values["output"] = []string{"json"}
	}
	var out, notes bytes.Buffer
	exit, err := s.answerer.Answer(ctx, c, &out, &notes)
	if err != nil {
		s.fail(w, body, err)
		return
	}
	contentType, ok := contentTypes[c.Values["output"][0]]
	if !ok {
		contentType = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set(ExitStatus, strconv.Itoa(exit))
	_, _ = w.Write(out.Bytes())
}

// fail answers with an error, which follows from a body that did not arrive in time.
func (s *server) fail(w http.ResponseWriter, body *arrival, err error) {
	if body.late {
		err = &httpError{http.StatusRequestTimeout, fmt.Sprintf("the body did not arrive within %v", s.MaximumReceive)}
	}
	fail(w, err)
}

// httpError is an error with an HTTP status.
type httpError struct {
	status int
	detail string
}

func (e *httpError) Error() string { return e.detail }

// statuses are the HTTP statuses of gRPC's codes. Others are the caller's fault: 400.
var statuses = map[codes.Code]int{
	codes.Canceled: 499, codes.DeadlineExceeded: http.StatusGatewayTimeout, codes.ResourceExhausted: http.StatusTooManyRequests,
	codes.Unavailable: http.StatusServiceUnavailable, codes.Internal: http.StatusInternalServerError, codes.Unknown: http.StatusInternalServerError,
	codes.Unauthenticated: http.StatusBadGateway, codes.PermissionDenied: http.StatusBadGateway,
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	if e, ok := errors.AsType[*httpError](err); ok {
		refuse(w, e.status, verbs.Problem{Detail: e.detail})
		return
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		refuse(w, http.StatusRequestEntityTooLarge, verbs.Problem{Detail: fmt.Sprintf("the body has more than %d bytes", e.Limit)})
		return
	}
	if e, ok := errors.AsType[*verbs.InvalidError](err); ok {
		refuse(w, http.StatusBadRequest, e.Problems...)
		return
	}
	code, ok := statuses[status.Code(err)]
	if !ok {
		code = http.StatusBadRequest
	}
	refuse(w, code, verbs.Problem{Detail: status.Convert(err).Message()})
}

// refuse writes problem details as RFC 9457 has them.
func refuse(w http.ResponseWriter, code int, problems ...verbs.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(code)
	title := http.StatusText(code)
	if title == "" {
		title = "Client Closed Request"
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(struct {
		Title  string          `json:"title"`
		Status int             `json:"status"`
		Errors []verbs.Problem `json:"errors"`
	}{title, code, problems})
}
