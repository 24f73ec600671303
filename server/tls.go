package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stowage-scheduler/stowage/server/certificates"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/gateway"
	"github.com/stowage-scheduler/stowage/server/identity"
)

// loadTLS loads the configured TLS files, which are read again when they change. It returns nil for plaintext.
func loadTLS(c *config.Config, log *slog.Logger) (*tls.Config, error) {
	if c.TLSCertFile == "" {
		return nil, nil
	}
	f, err := certificates.Read(log, c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("tls-cert-file, tls-client-ca-file: %w", err)
	}
	return f.Server(c.AccessFile != ""), nil
}

// credentialsOf returns the credentials of a TLS configuration, nil for plaintext.
func credentialsOf(secure *tls.Config) credentials.TransportCredentials {
	if secure == nil {
		return nil
	}
	return connectionCredentials{credentials.NewTLS(secure)}
}

// connectionCredentials are TLS credentials that name callers. Connections within the process need no TLS. Connections of the gateway
// have the AuthInfo of their HTTP connections.
type connectionCredentials struct {
	credentials.TransportCredentials
}

// ServerHandshake implements credentials.TransportCredentials.
func (c connectionCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if of, ok := conn.(*gateway.Conn); ok {
		return conn, of.Info, nil
	}
	if conn.LocalAddr().Network() == "bufconn" {
		return insecure.NewCredentials().ServerHandshake(conn)
	}
	secure, info, err := c.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		return nil, nil, err
	}
	return secure, identity.OfConnection(info), nil
}

// Clone implements credentials.TransportCredentials.
func (c connectionCredentials) Clone() credentials.TransportCredentials {
	return connectionCredentials{c.TransportCredentials.Clone()}
}
