//go:build !js

package server

import (
	"fmt"
	"log/slog"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stowage-scheduler/stowage/server/certificates"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/identity"
)

// loadCredentials loads the configured TLS files, which are read again when they change. It returns nil for plaintext.
func loadCredentials(c *config.Config, log *slog.Logger) (credentials.TransportCredentials, error) {
	if c.TLSCertFile == "" {
		return nil, nil
	}
	f, err := certificates.Read(log, c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("tls-cert-file, tls-client-ca-file: %w", err)
	}
	return connectionCredentials{credentials.NewTLS(f.Server(c.AccessFile != ""))}, nil
}

// connectionCredentials are TLS credentials that name callers. The in-process connection needs no TLS.
type connectionCredentials struct {
	credentials.TransportCredentials
}

// ServerHandshake implements credentials.TransportCredentials.
func (c connectionCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
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
