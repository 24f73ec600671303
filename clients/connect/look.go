package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
)

// Look is a check right before a request is sent, repeated when it has a connection and its body is sent.
type Look struct {
	holds   func() error
	unclear error
}

type lookKey struct{}

// WithLook makes a request of a client that is Looking fail with the error of holds instead of being sent.
func WithLook(ctx context.Context, holds func() error) (context.Context, *Look) {
	l := &Look{holds: holds}
	return context.WithValue(ctx, lookKey{}, l), l
}

// Unclear is not nil if the server may have carried out the request although it failed with the error of a later check or with
// lease.ErrNotHeld: client-go repeats a request after an answer with Retry-After, and a failing connection ends requests that were sent
// and answers that were not read completely. Call it after the request.
func (l *Look) Unclear() error { return l.unclear }

// Looking makes a client check before it sends: after the wait for its rate limit, and before it repeats a request after a 429.
func Looking(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return lookingTransport{next} })
}

type lookingTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t lookingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	look, ok := r.Context().Value(lookKey{}).(*Look)
	if !ok {
		return t.RoundTripper.RoundTrip(r)
	}
	if err := look.holds(); err != nil {
		return nil, err
	}
	a := &attempt{look: look}
	answer, err := t.RoundTripper.RoundTrip(a.request(r))
	sent := a.end()
	switch {
	case err != nil && sent:
		look.unclear = err
	case err != nil:
	case answer.StatusCode != http.StatusTooManyRequests:
		look.unclear = fmt.Errorf("the server answered %s", answer.Status)
	}
	return answer, err
}

// WrappedRoundTripper lets client-go find the transport.
func (t lookingTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// attempt is one attempt to send a request. The server carries it out only after it has received the whole body, and no connection sends
// bytes that were not read.
type attempt struct {
	look  *Look
	mutex sync.Mutex
	state bodyState
}

type bodyState int

const (
	unread  bodyState = iota // nothing of the body was read
	read                     // all of the body may have been sent
	refused                  // nothing was read, and nothing can be read any more
)

// request returns the request with a body that checks before it is read.
func (a *attempt) request(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		a.state = read
		return r
	}
	out := r.WithContext(r.Context()) // RoundTrip must not change a request
	out.Body = &body{r.Body, a}
	if r.GetBody != nil {
		out.GetBody = func() (io.ReadCloser, error) {
			a.again()
			b, err := r.GetBody()
			return &body{b, a}, err
		}
	}
	return out
}

// again begins to send the request once more. The transport does so only if the server has not processed it.
func (a *attempt) again() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.state == read {
		a.state = unread
	}
}

// begin returns an error if the body may not be sent. The request now has a connection. If a lease.Dialer has made it in a later term
// than the previous check, this check fails.
func (a *attempt) begin() error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	switch a.state {
	case read:
		return nil
	case refused:
		return errors.New("the request has ended")
	}
	if err := a.look.holds(); err != nil {
		a.state = refused
		return err
	}
	a.state = read
	return nil
}

// end reports whether the whole request may have been sent. If not, it never will be.
func (a *attempt) end() (sent bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.state == unread {
		a.state = refused
	}
	return a.state == read
}

// body is the body of an attempt.
type body struct {
	io.ReadCloser
	of *attempt
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if err := b.of.begin(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}
