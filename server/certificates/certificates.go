package connect

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookEvery is the minimum interval between checks for new files. Connections trigger the checks.
const lookEvery = time.Second

// files are certificates in files that may change. The libraries that reload such files depend on a file watcher, SPIFFE or
// k8s.io/apiserver.
type files struct {
	cert, key, ca string // key and cert, or ca, may be empty
	log           *slog.Logger

	mutex  sync.Mutex
	looked time.Time
	text   [3][]byte
	now    *material
}

type material struct {
	certificates []tls.Certificate
	authorities  *x509.CertPool // nil without a file
}

// newFiles reads the files, and returns their errors.
func newFiles(log *slog.Logger, cert, key, ca string) (*files, error) {
	f := &files{cert: cert, key: key, ca: ca, log: log}
	return f, f.read()
}

// current returns the certificates of the files, and the previous ones if the files are invalid.
func (f *files) current() *material {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if time.Since(f.looked) > lookEvery {
		if err := f.read(); err != nil {
			f.log.Error("cannot reload certificates; keeping the previous ones", "error", err)
		}
	}
	return f.now
}

func (f *files) read() error {
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
	m := &material{}
	if f.cert != "" {
		pair, err := tls.X509KeyPair(text[0], text[1])
		if err != nil {
			return fmt.Errorf("%s, %s: %w", f.cert, f.key, err)
		}
		m.certificates = []tls.Certificate{pair}
	}
	if f.ca != "" {
		m.authorities = x509.NewCertPool()
		if !m.authorities.AppendCertsFromPEM(text[2]) {
			return fmt.Errorf("%s has no certificate", f.ca)
		}
	}
	if f.now != nil {
		f.log.Info("certificates reloaded", "cert_file", f.cert, "ca_file", f.ca)
	}
	f.text, f.now = text, m
	return nil
}
