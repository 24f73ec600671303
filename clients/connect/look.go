package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/stowage-scheduler/stowage/clients/lease"
)

// Look is a check right before a request is sent.
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

// Unclear is not nil if the server may have carried out the request, without saying so, before a later check failed:
// client-go repeats a request that was answered with Retry-After. Call it after the request.
func (l *Look) Unclear() error { return l.unclear }

// Looking makes a client check before it sends: after it has waited for its rate limit, and before it repeats a request
// that was answered 429.
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
	answer, err := t.RoundTripper.RoundTrip(r)
	switch {
	case err != nil && !errors.Is(err, lease.ErrNotHeld):
		look.unclear = err
	case err != nil:
	case answer.StatusCode >= http.StatusInternalServerError:
		look.unclear = fmt.Errorf("the server answered %s", answer.Status)
	}
	return answer, err
}

// WrappedRoundTripper lets client-go find the transport.
func (t lookingTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
