package connect

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/stowage-scheduler/stowage/server/certificates"
)

// Server has the flags of a server's TLS.
type Server struct {
	TLSCertFile     string `help:"PEM server certificate; without it connections are plain text. All files are reloaded when they change."`
	TLSKeyFile      string `help:"PEM key of tls-cert-file."`
	TLSClientCAFile string `name:"tls-client-ca-file" help:"PEM certificates of the authorities of client certificates. Without it client certificates are not required."`

	TLSClientNames []string `name:"tls-client-names" sep:"none" help:"Accepted name of client certificates; may be repeated: subject:CN=kube-scheduler, or uri:spiffe://... By default every certificate of tls-client-ca-file is accepted."`
}

// Validate implements kong's validation.
func (s *Server) Validate() error {
	switch {
	case (s.TLSCertFile == "") != (s.TLSKeyFile == ""):
		return errors.New("tls-cert-file: must be set together with tls-key-file")
	case s.TLSClientCAFile != "" && s.TLSCertFile == "":
		return errors.New("tls-client-ca-file: needs tls-cert-file")
	case len(s.TLSClientNames) > 0 && s.TLSClientCAFile == "":
		return errors.New("tls-client-names: needs tls-client-ca-file")
	}
	for _, name := range s.TLSClientNames {
		if !strings.HasPrefix(name, "subject:") && !strings.HasPrefix(name, "uri:") {
			return fmt.Errorf("tls-client-names: must begin with subject: or uri:, is %q", name)
		}
	}
	return nil
}

// Config returns the TLS configuration, nil for plain text.
func (s *Server) Config(log *slog.Logger) (*tls.Config, error) {
	if s.TLSCertFile == "" {
		return nil, nil
	}
	f, err := certificates.Read(log, s.TLSCertFile, s.TLSKeyFile, s.TLSClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("tls-cert-file, tls-client-ca-file: %w", err)
	}
	return f.Server(false, s.TLSClientNames...), nil
}
