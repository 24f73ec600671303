package expander

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/proto/grpcplugin"
)

func parsed(t *testing.T, args ...string) (*Config, error) {
	t.Helper()
	var c Config
	p, err := kong.New(&c, kong.Exit(func(int) { t.Fatal("exit") }))
	must(t, err)
	_, err = p.Parse(args)
	return &c, err
}

// certificate writes a certificate of 127.0.0.1 that signs itself, and its key.
func certificate(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	certificate, key = filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	must(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), 0o600))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey}), 0o600))
	return certificate, key
}

// Cluster Autoscaler dials with the certificate of --grpc-expander-cert, sends all options with a deadline of 5 s, and takes of
// the answer the ids of node groups that it knows (expander/grpcplugin/grpc_client.go, cluster-autoscaler-release-1.37).
func TestAsClusterAutoscalerCalls(t *testing.T) {
	server := servertest.Start(t)
	cert, key := certificate(t)
	file := filepath.Join(t.TempDir(), "prices.yaml")
	must(t, os.WriteFile(file, []byte("prices: [{nodeGroup: small, price: 1}, {nodeGroup: large, price: 2}]\n"), 0o600))
	c, err := parsed(t, "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0", "--stowage-address="+server.Address,
		"--drain-delay=0s", "--tls-cert-file="+cert, "--tls-key-file="+key, "--prices-file="+file, "--cluster")
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	listening, done := make(chan [2]net.Addr, 1), make(chan error, 1)
	go func() {
		done <- c.run(ctx, quiet(), fake.NewClientset(node("old", "z1", "1", "1Gi")), func(expander, admin net.Addr) {
			listening <- [2]net.Addr{expander, admin}
		})
	}()
	at := <-listening
	get := func(path string) (int, string) {
		r, err := http.Get("http://" + at[1].String() + path)
		must(t, err)
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(text)
	}
	eventually(t, "ready", func() bool { code, _ := get("/readyz"); return code == http.StatusOK })

	creds, err := credentials.NewClientTLSFromFile(cert, "")
	must(t, err)
	conn, err := grpc.NewClient(at[0].String(), grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(128<<20)))
	must(t, err)
	defer conn.Close()
	six := pods(6, "1", "1Gi")
	options := []expansion{{"small", 3, node("small", "z1", "2", "8Gi"), six}, {"large", 1, node("large", "z1", "8", "32Gi"), six}}
	calling, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	answer, err := grpcplugin.NewExpanderClient(conn).BestOptions(calling, encoded(t, options...))
	must(t, err)
	known := map[string]expansion{}
	for _, o := range options {
		known[o.group] = o
	}
	if len(answer.Options) != 1 || known[answer.Options[0].NodeGroupId].count != 1 {
		t.Errorf("answered %v", answer)
	}
	_, metrics := get("/metrics")
	for _, name := range []string{
		`stowage_expander_duration_seconds_count{result="selected"} 1`, `stowage_live_objects{kind="Node"} 1`,
	} {
		if !strings.Contains(metrics, name) {
			t.Errorf("no %s in %s", name, metrics)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	select {
	case err := <-done:
		must(t, err)
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
}

func TestBadSettings(t *testing.T) {
	for _, args := range [][]string{
		{"--listen-address=nowhere"}, {"--none-fits=guess"}, {"--request-timeout=0s"}, {"--max-request-bytes=0"}, {"--tls-key-file=x"},
		{"--stowage-patience=4s"}, {"--drain-delay=-1s"}, {"--shutdown-grace-period=-1s"}, {"--log-level=loud"},
	} {
		if _, err := parsed(t, args...); err == nil {
			t.Errorf("%v are taken", args)
		}
	}
	for _, flag := range []string{"prices-file", "profile-file"} {
		file := filepath.Join(t.TempDir(), "none")
		c, err := parsed(t, "--"+flag+"="+file, "--listen-address=127.0.0.1:0", "--admin-address=127.0.0.1:0")
		must(t, err)
		if err := c.run(t.Context(), quiet(), nil, func(net.Addr, net.Addr) {}); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("with no %s: %v", flag, err)
		}
	}
}
