package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"google.golang.org/grpc/credentials"

	"github.com/stowage-scheduler/stowage/server/config"
)

// loadCredentials loads the configured TLS files. It returns nil for plaintext.
func loadCredentials(c *config.Config) (credentials.TransportCredentials, error) {
	if c.TLSCertFile == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.TLSCertFile, c.TLSKeyFile)
	if err != nil {
		return nil, fmt.Errorf("tls-cert-file: %w", err)
	}
	t := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if c.TLSClientCAFile != "" {
		pem, err := os.ReadFile(c.TLSClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("tls-client-ca-file: %w", err)
		}
		t.ClientCAs = x509.NewCertPool()
		if !t.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls-client-ca-file: %s has no certificate", c.TLSClientCAFile)
		}
		t.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return credentials.NewTLS(t), nil
}
