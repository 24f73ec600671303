package connect_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/stowage/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// authority writes certificates for a name, each its own authority, into the same files.
type authority struct{ cert, key string }

func newAuthority(t *testing.T, name string) authority {
	dir := t.TempDir()
	a := authority{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	a.renew(t, name)
	return a
}

func (a authority) renew(t *testing.T, name string) (certificate []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for path, block := range map[string]*pem.Block{
		a.cert: {Type: "CERTIFICATE", Bytes: der}, a.key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return der
}

func (a authority) pool(t *testing.T) *x509.CertPool {
	text, err := os.ReadFile(a.cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

func (a authority) pair(t *testing.T) tls.Certificate {
	pair, err := tls.LoadX509KeyPair(a.cert, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// soon waits for what holds after the files are looked at again.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Errorf("never: %s", what)
}

// counter is a log that counts its lines.
type counter struct{ atomic.Int64 }

func (c *counter) Write(line []byte) (int, error) {
	c.Add(1)
	return len(line), nil
}

func TestAServerReadsItsFilesAgain(t *testing.T) {
	own, known := newAuthority(t, "extender"), newAuthority(t, "scheduler")
	s := connect.Server{TLSCertFile: own.cert, TLSKeyFile: own.key, TLSClientCAFile: known.cert}
	var complaints counter
	config, err := s.Config(slog.New(slog.NewTextHandler(&complaints, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{TLSConfig: config,
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	reach := func(roots *x509.CertPool, certificates ...tls.Certificate) bool {
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
			RootCAs: roots, ServerName: "extender", Certificates: certificates,
		}}}
		r, err := c.Get("https://" + listener.Addr().String())
		if err != nil {
			return false
		}
		if r.ProtoMajor != 2 {
			t.Errorf("spoken to in %s, kube-scheduler would in HTTP/2", r.Proto)
		}
		return r.Body.Close() == nil
	}
	before, client := own.pool(t), known.pair(t)
	if !reach(before, client) {
		t.Error("a known client is not let in")
	}
	if reach(before) || reach(before, own.pair(t)) {
		t.Error("an unknown client is let in")
	}
	known.renew(t, "scheduler")
	own.renew(t, "extender")
	soon(t, "the new certificates", func() bool { return reach(own.pool(t), known.pair(t)) })
	if reach(before, known.pair(t)) || reach(own.pool(t), client) {
		t.Error("the old certificates go on being good")
	}
	complained := complaints.Load()
	if err := os.WriteFile(own.cert, []byte("half writt"), 0o600); err != nil {
		t.Fatal(err)
	}
	soon(t, "the file is read again", func() bool { reach(before); return complaints.Load() > complained })
	if !reach(x509ofServer(t, listener.Addr().String(), known.pair(t)), known.pair(t)) {
		t.Error("the last good certificate is not served")
	}
}

// TestOnlyNamedClients expects that a server with names lets in no client that has none of them, although its authority is known.
func TestOnlyNamedClients(t *testing.T) {
	own, known := newAuthority(t, "extender"), newAuthority(t, "scheduler")
	for name, in := range map[string]bool{"subject:CN=scheduler": true, "subject:CN=another": false, "uri:spiffe://x": false} {
		s := connect.Server{TLSCertFile: own.cert, TLSKeyFile: own.key, TLSClientCAFile: known.cert, TLSClientNames: []string{"uri:y", name}}
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		config, err := s.Config(slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			conn, err := listener.Accept()
			if err == nil {
				err = conn.(*tls.Conn).Handshake()
				_ = conn.Close()
			}
			ended <- err
		}()
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{
			RootCAs: own.pool(t), ServerName: "extender", Certificates: []tls.Certificate{known.pair(t)},
		})
		if err == nil {
			_, _ = conn.Read(make([]byte, 1)) // in TLS 1.3 the server verifies after the client is done
			_ = conn.Close()
		}
		if err := <-ended; (err == nil) != in {
			t.Errorf("%s: %v", name, err)
		}
		_ = listener.Close()
	}
}

// x509ofServer is what a server shows.
func x509ofServer(t *testing.T, address string, client tls.Certificate) *x509.CertPool {
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{client}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	pool := x509.NewCertPool()
	pool.AddCert(conn.ConnectionState().PeerCertificates[0])
	return pool
}

type placing struct {
	stowagev1.UnimplementedPlacementServiceServer
}

func (placing) Place(context.Context, *stowagev1.PlaceRequest) (*stowagev1.PlaceResponse, error) {
	return &stowagev1.PlaceResponse{}, nil
}

func TestAClientReadsItsFilesAgain(t *testing.T) {
	server, client := newAuthority(t, "stowage"), newAuthority(t, "shim")
	serve := func(address string) (*grpc.Server, string) {
		listener := loopback.Listen(t, address)
		s := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{server.pair(t)}, ClientCAs: client.pool(t), ClientAuth: tls.RequireAndVerifyClientCert,
		})))
		stowagev1.RegisterPlacementServiceServer(s, placing{})
		go func() { _ = s.Serve(listener) }()
		return s, listener.Addr().String()
	}
	first, address := serve(net.JoinHostPort(loopback.Host(), "0"))
	dial := func(c connect.Stowage) (func() error, func() error) {
		c.StowageAddress = []string{address}
		conn, err := c.Dial(slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := conn.Place(ctx, &stowagev1.PlaceRequest{})
			return err
		}, conn.Close
	}
	right := connect.Stowage{
		StowageCAFile: server.cert, StowageCertFile: client.cert, StowageKeyFile: client.key, StowageServerName: "stowage",
	}
	place, closing := dial(right)
	defer func() { _ = closing() }()
	if err := place(); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]connect.Stowage{
		"the name of the target, which the certificate lacks": {
			StowageCAFile: server.cert, StowageCertFile: client.cert, StowageKeyFile: client.key,
		},
		"no certificate": {StowageCAFile: server.cert, StowageServerName: "stowage"},
		"another authority": {
			StowageCAFile: client.cert, StowageCertFile: client.cert, StowageKeyFile: client.key, StowageServerName: "stowage",
		},
		"plain text": {},
	} {
		place, closing := dial(wrong)
		if err := place(); err == nil {
			t.Errorf("%s: no error", name)
		}
		_ = closing()
	}
	first.Stop()
	server.renew(t, "stowage")
	client.renew(t, "shim")
	second, _ := serve(address)
	defer second.Stop()
	soon(t, "the new certificates", func() bool { return place() == nil })
}

func TestFilesThatAreWrongAreSaidAtTheStart(t *testing.T) {
	a := newAuthority(t, "a")
	log := slog.New(slog.DiscardHandler)
	for name, s := range map[string]connect.Server{
		"no file":     {TLSCertFile: a.cert + "x", TLSKeyFile: a.key},
		"not the key": {TLSCertFile: a.cert, TLSKeyFile: newAuthority(t, "b").key},
		"no CA":       {TLSCertFile: a.cert, TLSKeyFile: a.key, TLSClientCAFile: a.key},
	} {
		if _, err := s.Config(log); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, err := range map[string]error{
		"key alone":          (&connect.Server{TLSKeyFile: a.key}).Validate(),
		"CA alone":           (&connect.Server{TLSClientCAFile: a.key}).Validate(),
		"names alone":        (&connect.Server{TLSCertFile: a.cert, TLSKeyFile: a.key, TLSClientNames: []string{"subject:CN=x"}}).Validate(),
		"a name of no kind":  (&connect.Server{TLSCertFile: a.cert, TLSKeyFile: a.key, TLSClientCAFile: a.cert, TLSClientNames: []string{"x"}}).Validate(),
		"no address":         (&connect.Stowage{}).Validate(),
		"certificate alone":  (&connect.Stowage{StowageAddress: []string{"a"}, StowageCertFile: a.cert}).Validate(),
		"name in plain text": (&connect.Stowage{StowageAddress: []string{"a"}, StowageServerName: "b"}).Validate(),
		"certificate, plainly": (&connect.Stowage{
			StowageAddress: []string{"a"}, StowageCertFile: a.cert, StowageKeyFile: a.key,
		}).Validate(),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if config, err := (&connect.Server{}).Config(log); config != nil || err != nil {
		t.Errorf("plain text: %v, %v", config, err)
	}
}
