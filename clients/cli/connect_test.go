package cli_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/stowage-scheduler/stowage/clients/cli"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/inprocess"
)

// placing answers Place by a server inside the process.
type placing struct {
	stowagev1.UnimplementedPlacementServiceServer
	by stowagev1.PlacementServiceClient
}

func (p *placing) Place(ctx context.Context, r *stowagev1.PlaceRequest) (*stowagev1.PlaceResponse, error) {
	return p.by.Place(ctx, r)
}

// listen serves on loopback, in plain text if the configuration is nil.
func listen(t *testing.T, config *tls.Config) (address string) {
	t.Helper()
	conn, stop, err := inprocess.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stop() })
	var options []grpc.ServerOption
	if config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	s := grpc.NewServer(options...)
	stowagev1.RegisterPlacementServiceServer(s, &placing{by: stowagev1.NewPlacementServiceClient(conn)})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return listener.Addr().String()
}

func TestAServerIsReachedByTLSAndErrorsSayWhatIsWrong(t *testing.T) {
	issuer := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1 and example.com
	defer issuer.Close()
	certificate := issuer.TLS.Certificates[0]
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	authority, key := write("ca.pem", "CERTIFICATE", certificate.Certificate[0]), write("key.pem", "PRIVATE KEY", secret)
	known := x509.NewCertPool()
	known.AddCert(issuer.Certificate())
	open := listen(t, &tls.Config{Certificates: []tls.Certificate{certificate}})
	closed := listen(t, &tls.Config{Certificates: []tls.Certificate{certificate}, ClientCAs: known, ClientAuth: tls.RequireAnyClientCert})
	plain := listen(t, nil)
	manifests := filepath.Join(dir, "nodes.yaml")
	if err := os.WriteFile(manifests, []byte("{apiVersion: v1, kind: Node, metadata: {name: a}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	client := []string{"--stowage-cert-file", authority, "--stowage-key-file", key}
	for _, c := range []struct {
		name string
		args []string
		want string // in the error
	}{
		{"plain text", []string{"--server", plain}, ""},
		{"TLS", []string{"--server", open, "--stowage-ca-file", authority}, ""},
		{"by another name", []string{"--server", open, "--stowage-ca-file", authority, "--stowage-server-name", "example.com"}, ""},
		{"with a certificate", append([]string{"--server", closed, "--stowage-ca-file", authority}, client...), ""},
		{"nothing there", []string{"--server", "127.0.0.1:1"}, "error: server 127.0.0.1:1: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused (nothing listens there)"},
		{"TLS with a plain server", []string{"--server", plain, "--stowage-ca-file", authority}, "the server speaks plain text: leave out --stowage-ca-file"},
		{"plain text with a TLS server", []string{"--server", open}, "if the server speaks TLS, --stowage-ca-file is needed"},
		{"not its name", []string{"--server", open, "--stowage-ca-file", authority, "--stowage-server-name", "stowage"}, "not stowage (--stowage-server-name is the name to expect in it)"},
		{"no certificate", []string{"--server", closed, "--stowage-ca-file", authority}, " for --stowage-cert-file and --stowage-key-file)"},
		{"no file", []string{"--server", open, "--stowage-ca-file", dir + "/none"}, "none: no such file or directory"},
		{"half a certificate", []string{"--server", open, "--stowage-ca-file", authority, "--stowage-key-file", key}, "stowage-cert-file: must be set together with stowage-key-file"},
		{"no server", []string{"--stowage-ca-file", authority}, "the flags of TLS and tokens need --server"},
	} {
		code, _, stderr := stowage(t, append([]string{"place", "-f", manifests}, c.args...)...)
		if (code == 0) != (c.want == "") || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, %q, want %q", c.name, code, stderr, c.want)
		}
		if strings.Contains(stderr, "rpc error") || strings.Count(stderr, "\n") > 1 {
			t.Errorf("%s: %q", c.name, stderr)
		}
	}
}

func TestTheUsageSaysHowTheCommandIsCalled(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/local/bin/stowage": "Usage: stowage <command>", "/opt/krew/bin/kubectl-stowage": "Usage: kubectl stowage <command>",
		"kubectl-stowage.exe": "Usage: kubectl stowage <command>",
	} {
		var out strings.Builder
		if code := cli.RunAs(t.Context(), program, []string{"--help"}, nil, &out, &out); code != 0 || !strings.Contains(out.String(), "\n"+want) {
			t.Errorf("%s: exit %d\n%s", program, code, out.String())
		}
	}
	if code, stdout, _ := stowage(t, "--version"); code != 0 || strings.TrimSpace(stdout) == "" {
		t.Errorf("exit %d, %q", code, stdout)
	}
}
