package connect

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// Look is what is looked at right before a request is sent.
type Look struct {
	holds   func() error
	unclear error
}

type lookKey struct{}

// WithLook has a request of a client that is Looking fail with the error of holds instead of being sent.
func WithLook(ctx context.Context, holds func() error) (context.Context, *Look) {
	l := &Look{holds: holds}
	return context.WithValue(ctx, lookKey{}, l), l
}

// Unclear is not nil if the server may have carried out the request, though it did not say so, before a later look failed:
// client-go sends a request again that was answered with Retry-After. It is for after the request.
func (l *Look) Unclear() error { return l.unclear }

// Looking makes a client look before it sends: after it has waited for its limit of requests, and before it sends again
// a request that was answered 429.
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
	case err != nil:
		look.unclear = err
	case answer.StatusCode >= http.StatusInternalServerError:
		look.unclear = fmt.Errorf("the server answered %s", answer.Status)
	}
	return answer, err
}

// WrappedRoundTripper lets client-go find the transport.
func (t lookingTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
