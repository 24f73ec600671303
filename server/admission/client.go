package admission

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

type clientKey struct{}

// Named is the AuthInfo of a connection that names its client, such as the subject of a verified certificate.
type Named interface{ Client() string }

// WithClient names the client of a request, for callers that know a better name than the connection's, for instance from a verified
// token.
func WithClient(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, clientKey{}, name)
}

// Client returns the name of a request's client: the one that WithClient gave it, the subject of a verified certificate, or the
// address of its host. An unverified token is no name, as a caller could take a new one for each request.
func Client(ctx context.Context) string {
	if name, ok := ctx.Value(clientKey{}).(string); ok {
		return "client " + name
	}
	p, ok := peer.FromContext(ctx)
	if !ok || p.Addr == nil {
		return ""
	}
	return ClientOf(p.Addr, p.AuthInfo)
}

// ClientOf returns the name of a connection's client.
func ClientOf(addr net.Addr, info credentials.AuthInfo) string {
	if named, ok := info.(Named); ok {
		return named.Client()
	}
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "peer " + addr.String()
	}
	return "host " + host
}
