package server

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/credentials"
)

// certificate makes a certificate for 127.0.0.1 that is its own authority, as files and for use.
func certificate(t testing.TB) (certFile, keyFile string, cert tls.Certificate, pool *x509.CertPool) {
	t.Helper()
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	cert, pool = writeCertificate(t, certFile, keyFile)
	return certFile, keyFile, cert, pool
}

// writeCertificate writes a new one.
func writeCertificate(t testing.TB, certFile, keyFile string) (cert tls.Certificate, pool *x509.CertPool) {
	t.Helper()
	return writeCertificateOf(t, "test", certFile, keyFile)
}

// writeCertificateOf writes a new one of a common name.
func writeCertificateOf(t testing.TB, name, certFile, keyFile string) (cert tls.Certificate, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	for path, content := range map[string][]byte{certFile: certPEM, keyFile: keyPEM} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if cert, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return cert, pool
}

func TestMutualTLS(t *testing.T) {
	certFile, keyFile, cert, pool := certificate(t)
	c := testConfig()
	c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile = certFile, keyFile, certFile
	known := credentials.NewTLS(&tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}})
	r := run(t, c, t.Output(), nil, known)
	if _, err := r.client().Place(t.Context(), placeApart(1)); err != nil {
		t.Errorf("a known client: %v", err)
	}
	for name, creds := range map[string]credentials.TransportCredentials{
		"plain text":     nil,
		"no certificate": credentials.NewTLS(&tls.Config{RootCAs: pool}),
	} {
		r := run(t, c, t.Output(), nil, creds)
		if _, err := r.client().Place(t.Context(), placeApart(1)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestBadTLSFiles(t *testing.T) {
	certFile, keyFile, _, _ := certificate(t)
	for name, files := range map[string][3]string{
		"no key":         {certFile, "/nonexistent", ""},
		"no authorities": {certFile, keyFile, "/nonexistent"},
		"not a PEM file": {certFile, keyFile, os.Args[0]},
	} {
		c := testConfig()
		c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile = files[0], files[1], files[2]
		if _, err := New(t.Context(), c, c.Logger(t.Output())); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestACertificateIsReplacedUnderLoad: calls go on without an error, and new connections get the new certificate.
func TestACertificateIsReplacedUnderLoad(t *testing.T) {
	certFile, keyFile, cert, pool := certificate(t)
	c := testConfig()
	c.TLSCertFile, c.TLSKeyFile = certFile, keyFile
	r := run(t, c, io.Discard, nil, credentials.NewTLS(&tls.Config{RootCAs: pool}))
	stop := make(chan struct{})
	var load errgroup.Group
	for range 4 {
		load.Go(func() error {
			for {
				select {
				case <-stop:
					return nil
				default:
				}
				if _, err := r.client().Place(t.Context(), placeApart(1)); err != nil {
					return err
				}
			}
		})
	}
	shown := func() []byte {
		conn, err := tls.Dial("tcp", r.Address().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].Raw
	}
	if !bytes.Equal(shown(), cert.Certificate[0]) {
		t.Error("another certificate than that of the file")
	}
	cert, _ = writeCertificate(t, certFile, keyFile)
	eventually(t, "the new certificate is shown", func() bool { return bytes.Equal(shown(), cert.Certificate[0]) })
	close(stop)
	if err := load.Wait(); err != nil {
		t.Error(err)
	}
}
