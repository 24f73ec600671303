package deploy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/batch"
	"github.com/stowage-scheduler/stowage/clients/connect"
	"github.com/stowage-scheduler/stowage/clients/extender"
	"github.com/stowage-scheduler/stowage/deploy/deploytest"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server"
)

// TestWhoMayCall runs the server with the settings and the access file of the manifests, and with certificates as cert-manager makes
// them of the manifests' Certificates. It expects that whoever has no identity is refused.
func TestWhoMayCall(t *testing.T) {
	objects := deploytest.Kustomize(t, ".", "kubernetes", "extender", "batch")
	c := issue(t, objects)
	address := serve(t, c)

	for name, want := range map[string]struct {
		caller connect.Stowage
		code   codes.Code
	}{
		// The request is empty, so whoever is admitted gets InvalidArgument.
		"stowage-batch":                            {clientOf(t, objects, "batch"), codes.InvalidArgument},
		"stowage-extender":                         {clientOf(t, objects, "extender"), codes.InvalidArgument},
		"a service account of the namespace":       {connect.Stowage{StowageCAFile: "ca.crt", StowageTokenFile: "stowage:ci"}, codes.InvalidArgument},
		"a service account of another namespace":   {connect.Stowage{StowageCAFile: "ca.crt", StowageTokenFile: "shop:ci"}, codes.PermissionDenied},
		"an unknown token":                         {connect.Stowage{StowageCAFile: "ca.crt", StowageTokenFile: "unknown"}, codes.Unauthenticated},
		"another certificate of the authority":     {c.client("other"), codes.PermissionDenied},
		"a certificate of another authority":       {c.client("stranger"), codes.Unavailable},
		"a caller without certificate and token":   {connect.Stowage{StowageCAFile: "ca.crt"}, codes.Unauthenticated},
		"a caller in plain text":                   {connect.Stowage{}, codes.Unavailable},
		"a caller that does not know the server's": {connect.Stowage{StowageCAFile: "stranger/ca.crt"}, codes.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			settings := want.caller
			settings.StowageAddress = []string{address}
			settings.StowagePatience = time.Millisecond
			if settings.StowageCAFile != "" {
				settings.StowageServerName = "stowage.stowage.svc" // the host of the address in the manifests
			}
			for _, path := range []*string{
				&settings.StowageCAFile, &settings.StowageCertFile, &settings.StowageKeyFile, &settings.StowageTokenFile,
			} {
				if *path != "" {
					*path = filepath.Join(c.dir, *path)
				}
			}
			client, err := settings.Dial(slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			if _, err := client.Filter(t.Context(), &stowagev1.FilterRequest{}); status.Code(err) != want.code {
				t.Errorf("the answer is %v, want %v", err, want.code)
			}
		})
	}
	t.Run("a health check needs TLS alone", func(t *testing.T) {
		creds, err := credentials.NewClientTLSFromFile(filepath.Join(c.dir, "ca.crt"), "stowage.stowage.svc")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(creds))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
			t.Error(err)
		}
	})
}

// TestInsecureLeavesOtherCertificates expects the component insecure to remove the certificates of Stowage, and no others of an overlay.
func TestInsecureLeavesOtherCertificates(t *testing.T) {
	var left []string
	for _, o := range deploytest.Kustomize(t, ".", "kubernetes", "extender", "batch", "testdata/certificates", "kubernetes/insecure") {
		if o.GetObjectKind().GroupVersionKind().Group == "cert-manager.io" {
			left = append(left, o.GetObjectKind().GroupVersionKind().Kind+" "+o.GetName())
		}
	}
	slices.Sort(left)
	if want := []string{"Certificate web", "Issuer web"}; !slices.Equal(left, want) {
		t.Errorf("%v are left, want %v", left, want)
	}
}

// issued are files of certificates and tokens: each Secret of a Certificate is a directory of its name.
type issued struct {
	t         *testing.T
	dir       string
	authority *x509.Certificate
	key       *ecdsa.PrivateKey
}

// issue does what cert-manager does for the manifests.
func issue(t *testing.T, objects []deploytest.Object) *issued {
	t.Helper()
	c := &issued{t: t, dir: t.TempDir()}
	for _, o := range objects { // the authority first
		if m, ok := o.(*deploytest.Certificate); ok && m.Spec.IsCA {
			c.sign(m)
		}
	}
	for _, o := range objects {
		if m, ok := o.(*deploytest.Certificate); ok && !m.Spec.IsCA {
			c.sign(m)
		}
	}
	other := new(deploytest.Certificate)
	other.Spec.SecretName, other.Spec.CommonName, other.Spec.Usages = "other", "other", []string{"client auth"}
	c.sign(other)
	known := *c
	c.authority, c.key = nil, nil
	stranger := new(deploytest.Certificate)
	stranger.Spec.SecretName, stranger.Spec.CommonName, stranger.Spec.IsCA = "strangers", "stowage-ca", true
	c.sign(stranger)
	stranger.Spec.SecretName, stranger.Spec.CommonName, stranger.Spec.IsCA = "stranger", "stowage-batch", false
	stranger.Spec.Usages = []string{"client auth"}
	c.sign(stranger)
	c.authority, c.key = known.authority, known.key
	c.write("ca.crt", "CERTIFICATE", c.authority.Raw)
	for _, token := range []string{"stowage:ci", "shop:ci", "unknown"} {
		c.write(token, "", []byte(token))
	}
	return c
}

// sign creates the Secret of a Certificate. An authority signs itself and the certificates after it.
func (c *issued) sign(m *deploytest.Certificate) {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: m.Spec.CommonName}, DNSNames: m.Spec.DNSNames,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: m.Spec.IsCA, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	for _, usage := range m.Spec.Usages {
		switch usage {
		case "cert sign":
			about.KeyUsage |= x509.KeyUsageCertSign
		case "server auth":
			about.ExtKeyUsage = append(about.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		case "client auth":
			about.ExtKeyUsage = append(about.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
		}
	}
	if m.Spec.IsCA {
		about.KeyUsage |= x509.KeyUsageCertSign
		c.authority, c.key = about, key
	}
	der, err := x509.CreateCertificate(rand.Reader, about, c.authority, &key.PublicKey, c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	if m.Spec.IsCA {
		if c.authority, err = x509.ParseCertificate(der); err != nil {
			c.t.Fatal(err)
		}
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(m.Spec.SecretName+"/tls.crt", "CERTIFICATE", der)
	c.write(m.Spec.SecretName+"/tls.key", "PRIVATE KEY", keyDER)
	c.write(m.Spec.SecretName+"/ca.crt", "CERTIFICATE", c.authority.Raw)
}

// write writes a file, as PEM if it has a kind.
func (c *issued) write(name, kind string, content []byte) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if kind != "" {
		content = pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// client are the settings of a caller with the certificate in a Secret, which knows the server's authority.
func (c *issued) client(secret string) connect.Stowage {
	return connect.Stowage{StowageCAFile: "ca.crt", StowageCertFile: secret + "/tls.crt", StowageKeyFile: secret + "/tls.key"}
}

// clientOf are the settings of a client of the manifests, with its files in the Secret that is mounted for them.
func clientOf(t *testing.T, objects []deploytest.Object, container string) (out connect.Stowage) {
	t.Helper()
	for _, o := range objects {
		d, ok := o.(*appsv1.Deployment)
		if !ok || d.Name != "stowage-"+container {
			continue
		}
		spec := d.Spec.Template.Spec
		for _, c := range append(spec.InitContainers, spec.Containers...) {
			switch settings := deploytest.ClientSettings(t, c).(type) {
			case *batch.Config:
				out = settings.Stowage
			case *extender.Config:
				out = settings.Stowage
			default:
				continue
			}
			secrets := map[string]string{}
			for _, v := range spec.Volumes {
				if v.Secret != nil {
					secrets[v.Name] = v.Secret.SecretName
				}
			}
			for _, m := range c.VolumeMounts {
				for _, path := range []*string{&out.StowageCAFile, &out.StowageCertFile, &out.StowageKeyFile} {
					if name, ok := strings.CutPrefix(*path, m.MountPath+"/"); ok {
						*path = secrets[m.Name] + "/" + name
					}
				}
			}
			return out
		}
	}
	t.Fatalf("there is no %s", container)
	return out
}

// serve runs the server of the manifests until the test ends, with an API server that knows tokens such as "stowage:ci", of service
// accounts, for the audience stowage.
func serve(t *testing.T, files *issued) (address string) {
	t.Helper()
	reviewer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if account := review.Spec.Token; strings.Contains(account, ":") && strings.Join(review.Spec.Audiences, ",") == "stowage" {
			review.Status.Authenticated, review.Status.Audiences = true, review.Spec.Audiences
			review.Status.User.Username = "system:serviceaccount:" + account
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(&review)
	}))
	t.Cleanup(reviewer.Close)
	m := read(t)
	c := deployed(t, m)
	if c.TokenReviewURL != "https://kubernetes.default.svc" {
		t.Errorf("tokens are reviewed by %s", c.TokenReviewURL)
	}
	secret := m.deployment.Spec.Template.Spec.Volumes[1].Secret.SecretName
	for _, path := range []*string{&c.TLSCertFile, &c.TLSKeyFile, &c.TLSClientCAFile} {
		*path = filepath.Join(files.dir, secret, filepath.Base(*path))
	}
	c.AccessFile = files.write(accessKey, "", []byte(m.configMap.Data[accessKey]))
	c.TokenReviewURL = reviewer.URL
	c.TokenReviewCAFile = files.write("reviewer/ca.crt", "CERTIFICATE", reviewer.Certificate().Raw)
	c.TokenReviewTokenFile = files.write("reviewer/token", "", []byte("own"))
	c.ListenAddress, c.AdminAddress = "127.0.0.1:0", "127.0.0.1:0"
	c.DrainDelay = 0
	s, err := server.New(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.Address().String()
}
