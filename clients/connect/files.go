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

// lookEvery is how often files are looked at for something new, at most; they are when a connection is made.
const lookEvery = time.Second

// files are certificates in files that may change. The libraries that watch such files bring a file watcher, or SPIFFE, or
// an API server's worth of modules.
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

// newFiles reads the files for the first time; what is wrong with them is said now.
func newFiles(log *slog.Logger, cert, key, ca string) (*files, error) {
	f := &files{cert: cert, key: key, ca: ca, log: log}
	return f, f.read()
}

// current is what the files say. If that is wrong or half written, it is what they said last.
func (f *files) current() *material {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if time.Since(f.looked) > lookEvery {
		if err := f.read(); err != nil {
			f.log.Error("certificates cannot be read again, so the last ones are used", "error", err)
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
		f.log.Info("certificates have been read again", "cert_file", f.cert, "ca_file", f.ca)
	}
	f.text, f.now = text, m
	return nil
}
