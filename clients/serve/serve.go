// Package serve answers questions about Kubernetes objects over HTTP: the objects are the body of a request, as kubectl prints them or as
// manifests have them, and the answer is the document that the command stowage prints for them.
package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/stowage-scheduler/stowage/clients/answer/schema"
	"github.com/stowage-scheduler/stowage/clients/page"
	"github.com/stowage-scheduler/stowage/clients/verbs"
)

// Options bound what requests take.
type Options struct {
	// Token is the bearer token that requests must have. Without one, requests for other names than the names of this machine are refused.
	Token string
	// MaximumBody bounds the body of a request, and what it unpacks to, MaximumAnswer its answer.
	MaximumBody, MaximumAnswer int64
	// MaximumBodies is the room for the bodies, the pods of their workloads and the answers of all requests at a time. Each counts as MinimumShare at least. Others wait
	// for up to MaximumWait.
	MaximumBodies, MinimumShare int64
	// MaximumAnswers bounds the requests that are answered at a time, while others wait for up to MaximumWait.
	MaximumAnswers int64
	MaximumWait    time.Duration
	// MaximumReceive bounds how long a body may take to arrive: others wait for its room.
	MaximumReceive time.Duration
	// MaximumTime bounds a request, from its first byte until its answer is decided. Its caller has a minute more to read the answer.
	MaximumTime time.Duration
	// Cluster, unless nil, writes the objects of a cluster as kubectl get -o json does, and returns a note about what it lacks. The page asks
	// for them.
	Cluster func(ctx context.Context, w io.Writer) (note string, err error)
}

// Defaults are the options for a machine with 4 GiB of memory: objects take some eight times their text.
func Defaults() Options {
	return Options{
		MaximumBody: 128 << 20, MaximumAnswer: 128 << 20, MaximumBodies: 256 << 20, MinimumShare: 32 << 20,
		MaximumAnswers: int64(runtime.GOMAXPROCS(0)), MaximumWait: 5 * time.Second, MaximumReceive: 30 * time.Second, MaximumTime: 5 * time.Minute,
	}
}

// ExitStatus is the header with the exit status of the command: 0 for a yes, 1 for a no, 3 if kube-scheduler might decide otherwise.
const ExitStatus = "Stowage-Exit-Status"

type server struct {
	Options
	answerer    verbs.Answerer
	room, seats *semaphore.Weighted
	cluster     *semaphore.Weighted // is read by one request at a time
}

// NewHandler returns a handler with a path for each verb.
func NewHandler(a verbs.Answerer, o Options) (http.Handler, error) {
	o.MinimumShare = min(o.MinimumShare, o.MaximumBody)
	s := &server{
		Options: o, answerer: a,
		room: semaphore.NewWeighted(o.MaximumBodies), seats: semaphore.NewWeighted(o.MaximumAnswers), cluster: semaphore.NewWeighted(1),
	}
	description, err := openAPI(a.Verbs(), o.Cluster != nil)
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
	health := document("text/plain; charset=utf-8", []byte("ok\n"))
	if o.Cluster == nil {
		mux.HandleFunc("GET /healthz", health)
	} else {
		mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(HasCluster, "true")
			health(w, r)
		})
		mux.HandleFunc("POST "+clusterPath, s.readCluster)
	}
	return hardened(identified(sameOrigin(routed(mux)), o.Token)), nil
}

// Bounds of every request.
const (
	// lingerTimeout is how long the body of a refused request may still arrive: net/http reads some of it before it answers.
	lingerTimeout = time.Second
	// answerTimeout is how long a caller may take to read an answer.
	answerTimeout = time.Minute
)

// hardened sets the deadlines of requests without objects, and the headers of all answers: answers that are pages need no script and nothing of
// another origin. The page sets its own policy.
func hardened(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control, now := http.NewResponseController(w), time.Now()
		if err := errors.Join(control.SetReadDeadline(now.Add(lingerTimeout)), control.SetWriteDeadline(now.Add(answerTimeout))); err != nil {
			refuse(w, http.StatusInternalServerError, 0, verbs.Problem{Detail: err.Error()})
			return
		}
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
	end := deadline.Add(answerTimeout) // of the connection, so that a caller learns that the deadline has passed
	control := http.NewResponseController(w)
	received := time.Now().Add(s.MaximumReceive)
	if deadline.Before(received) {
		received = deadline
	}
	if err := errors.Join(control.SetReadDeadline(received), control.SetWriteDeadline(end)); err != nil {
		refuse(w, http.StatusInternalServerError, 0, verbs.Problem{Detail: err.Error()})
		return
	}
	body := &arrival{ReadCloser: r.Body, ended: func() { _ = control.SetReadDeadline(end) }}
	r.Body = body
	c, held, err := s.read(ctx, w, r, v)
	defer held.release()
	if err == nil {
		err = held.sit(ctx)
	}
	if err != nil {
		s.fail(w, body, err)
		return
	}
	if len(c.Values["output"]) == 0 {
		c.Values["output"] = []string{"json"}
	}
	output := c.Values["output"][0]
	out, beside := &answer{share: held}, &notes{}
	exit, err := s.answerer.Answer(ctx, c, out, beside)
	held.rise() // the caller may read slowly
	if err != nil {
		s.fail(w, body, err)
		return
	}
	contentType, ok := contentTypes[output]
	if !ok {
		contentType = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set(ExitStatus, strconv.Itoa(exit))
	_, _ = w.Write(out.text.Bytes())
	if output == "table" || output == "wide" { // which the command writes to a terminal with its notes
		_, _ = w.Write(beside.text.Bytes())
	}
}
