package server

import (
	"fmt"
	"log/slog"

	"google.golang.org/grpc/credentials"

	"github.com/stowage-scheduler/stowage/server/certificates"
	"github.com/stowage-scheduler/stowage/server/config"
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
	return exceptSelf{credentials.NewTLS(f.Server(c.AccessFile != ""))}, nil
}
