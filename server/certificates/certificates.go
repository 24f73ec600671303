// Package certificates serves TLS certificates from files that may change while a process runs.
package certificates

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// lookEvery is the minimum interval between checks for new files. Connections trigger the checks.
const lookEvery = time.Second

// Files are certificates in files that may change. The libraries that reload such files depend on a file watcher, SPIFFE or
// k8s.io/apiserver.
type Files struct {
	cert, key, ca string // key and cert, or ca, may be empty
	log           *slog.Logger

	mutex  sync.Mutex
	looked time.Time
	text   [3][]byte
	now    *Material
}

// Material is the content of the files at one time.
type Material struct {
	Certificates []tls.Certificate
	Authorities  *x509.CertPool // nil without a file
}

// Read reads a certificate with its key, authorities, or both; the paths of the others are empty.
func Read(log *slog.Logger, cert, key, ca string) (*Files, error) {
	f := &Files{cert: cert, key: key, ca: ca, log: log}
	return f, f.read()
}

// Names returns the names of a certificate's holder: subject: with the subject as RFC 2253 writes it, and uri: with each URI.
func Names(certificate *x509.Certificate) []string {
	names := []string{"subject:" + certificate.Subject.String()}
	for _, uri := range certificate.URIs {
		names = append(names, "uri:"+uri.String())
	}
	return names
}

// Server returns the TLS configuration of a server with the certificate. If there are authorities, clients need a certificate; with
// optional, a certificate is verified only if the client has one. With names, clients must have one of them. Each handshake uses the
// current content of the files.
func (f *Files) Server(optional bool, names ...string) *tls.Config {
	// net/http serves HTTP/2 only if NextProtos lists it; handshakes use the configuration of GetConfigForClient.
	protocols := []string{"h2", "http/1.1"}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			now := f.Current()
			config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: now.Certificates, NextProtos: protocols}
			if now.Authorities != nil {
				config.ClientCAs, config.ClientAuth = now.Authorities, tls.RequireAndVerifyClientCert
				if optional {
					config.ClientAuth = tls.VerifyClientCertIfGiven
				}
				if len(names) > 0 {
					config.VerifyConnection = func(s tls.ConnectionState) error { return checkName(&s, names) }
				}
			}
			return config, nil
		},
	}
}

// checkName returns an error unless a client has one of the names.
func checkName(s *tls.ConnectionState, names []string) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("a client certificate is needed")
	}
	has := Names(s.PeerCertificates[0])
	if !slices.ContainsFunc(has, func(name string) bool { return slices.Contains(names, name) }) {
		return fmt.Errorf("no client of this server is named %s", strings.Join(has, ", "))
	}
	return nil
}

// Current returns the certificates of the files, and the previous ones if the files are invalid.
func (f *Files) Current() *Material {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if time.Since(f.looked) > lookEvery {
		if err := f.read(); err != nil {
			f.log.Error("cannot reload certificates; keeping the previous ones", "error", err)
		}
	}
	return f.now
}

func (f *Files) read() error {
	f.looked = time.Now()
	var text [3][]byte
	same := f.now != nil
	for i, path := range []string{f.cert, f.key, f.ca} {
		if path == "" {
			continue
		}
		var err error
		if text[i], err = os.ReadFile(path); err != nil {
			return err
		}
		same = same && bytes.Equal(text[i], f.text[i])
	}
	if same {
		return nil
	}
	m := &Material{}
	if f.cert != "" {
		pair, err := tls.X509KeyPair(text[0], text[1])
		if err != nil {
			return fmt.Errorf("%s, %s: %w", f.cert, f.key, err)
		}
		m.Certificates = []tls.Certificate{pair}
	}
	if f.ca != "" {
		m.Authorities = x509.NewCertPool()
		if !m.Authorities.AppendCertsFromPEM(text[2]) {
			return fmt.Errorf("%s has no certificate", f.ca)
		}
	}
	if f.now != nil {
		f.log.Info("certificates reloaded", "cert_file", f.cert, "ca_file", f.ca)
	}
	f.text, f.now = text, m
	return nil
}
