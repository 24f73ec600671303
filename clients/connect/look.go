package batch

import (
	"context"
	"net/http"

	"k8s.io/client-go/rest"
)

// lookKey is where a call's context has what is looked at right before the call is sent.
type lookKey struct{}

// withLook has a call fail instead of being sent if look fails.
func withLook(ctx context.Context, look func() error) context.Context {
	return context.WithValue(ctx, lookKey{}, look)
}

// looking makes a client look before it sends: after it has waited for its limit of requests, and before it sends again what
// the API server had too much to do for.
func looking(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return lookingTransport{next} })
}

type lookingTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t lookingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if look, ok := r.Context().Value(lookKey{}).(func() error); ok {
		if err := look(); err != nil {
			return nil, err
		}
	}
	return t.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the transport.
func (t lookingTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }
