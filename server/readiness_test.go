package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// TestReadinessAsksAQuestion expects that a server is ready only while it answers, and right.
func TestReadinessAsksAQuestion(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer func(context.Context) error
		code   int
		body   string
	}{
		{"a wrong answer", func(context.Context) error { return nil }, 503, "wrong answer"},
		{"no answer", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, 503, "DeadlineExceeded"},
		{"an error", func(context.Context) error { return status.Error(codes.Internal, "broken") }, 503, "broken"},
		{"too much work", func(context.Context) error { return status.Error(codes.ResourceExhausted, "busy") }, 200, "ok"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := create(t, testConfig(), t.Output(), &stub{filter: test.answer})
			var err error
			if s.self, err = newSelf(); err != nil {
				t.Fatal(err)
			}
			r := start(t, s, nil)
			eventually(t, "ready", r.ready.Load)
			if code, body := r.get(t, "/readyz"); code != test.code || !strings.Contains(body, test.body) {
				t.Errorf("/readyz answers %d %q, want %d with %q", code, body, test.code, test.body)
			}
			if code, _ := r.get(t, "/healthz"); code != 200 {
				t.Errorf("/healthz answers %d", code)
			}
		})
	}
}

// TestReadinessNeedsNoCertificate expects that a server that requires certificates of its callers can ask itself, and logs nothing.
func TestReadinessNeedsNoCertificate(t *testing.T) {
	certFile, keyFile, cert, pool := certificate(t)
	c := testConfig()
	c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile = certFile, keyFile, certFile
	var log bytes.Buffer
	r := run(t, c, &log, nil, credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}}))
	eventually(t, "ready", r.ready.Load)
	for range 3 {
		if code, body := r.get(t, "/readyz"); code != 200 {
			t.Errorf("/readyz answers %d %q", code, body)
		}
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "finished call") {
		t.Errorf("the log has the questions: %s", log.String())
	}
}
