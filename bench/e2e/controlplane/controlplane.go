package controlplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// adminToken is the token of the only user other than the service accounts. The user is in group system:masters.
const adminToken = "e2e-admin"

// ControlPlane is a running control plane.
type ControlPlane struct {
	Etcd, APIServer, ControllerManager *Process
	// Client is the administrator's, without a limit of calls.
	Client kubernetes.Interface

	bin, dir string
	url      string // of the API server
	admin    string // path of the administrator's kubeconfig
	mutex    sync.Mutex
	all      []*Process // in the order in which they were started
}

// Start starts a control plane with the binaries in one directory, and everything that it keeps in another, and returns
// once objects can be created. Flags of the API server may be given beside its own, or instead of them. The caller must Stop it.
func Start(ctx context.Context, bin, dir string, apiServer ...string) (*ControlPlane, error) {
	var err error
	if bin, err = filepath.Abs(bin); err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	c := &ControlPlane{bin: bin, dir: dir}
	if err := c.start(ctx, apiServer); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context, apiServer []string) error {
	var ports [4]int
	for i := range ports {
		var err error
		if ports[i], err = FreePort(); err != nil {
			return err
		}
	}
	etcd, peers := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	c.url = fmt.Sprintf("https://127.0.0.1:%d", ports[2])
	if err := c.writeFiles(); err != nil {
		return err
	}
	var err error
	if c.admin, err = c.Kubeconfig("admin", adminToken); err != nil {
		return err
	}
	c.Etcd = c.process("etcd", c.binary("etcd"), HTTPReady(etcd+"/health"),
		"--name=e2e", "--data-dir="+c.path("etcd"), "--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=e2e="+peers,
		"--log-level=warn", "--quota-backend-bytes=8589934592", "--unsafe-no-fsync")
	if err := c.Etcd.Start(ctx); err != nil {
		return err
	}
	c.APIServer = c.process("kube-apiserver", c.binary("kube-apiserver"), c.apiReady, append([]string{
		"--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", ports[2]), "--endpoint-reconciler-type=none", "--cert-dir=" + c.path("certs"),
		"--token-auth-file=" + c.path("tokens.csv"), "--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + c.path("sa.key"),
		"--service-account-signing-key-file=" + c.path("sa.key"), "--service-cluster-ip-range=10.0.0.0/24",
		// The plugin taints new nodes. There is no node controller or kubelet that would remove the taint.
		"--disable-admission-plugins=TaintNodesByCondition",
		// Without its gate, the API server drops or rejects the field of a pod that needs the feature of a node.
		"--feature-gates=UserNamespacesHostNetworkSupport=true,VolumeBindMountOptions=true",
		"--max-requests-inflight=2000", "--max-mutating-requests-inflight=2000", "--v=1"}, apiServer...)...)
	if err := c.APIServer.Start(ctx); err != nil {
		return err
	}
	// The node controllers would evict everything from nodes without heartbeats.
	c.ControllerManager = c.process("kube-controller-manager", c.binary("kube-controller-manager"), c.accountReady,
		"--kubeconfig="+c.admin, "--authentication-kubeconfig="+c.admin, "--authorization-kubeconfig="+c.admin,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[3]), "--cert-dir="+c.path("controller-manager"),
		"--leader-elect=false", "--service-account-private-key-file="+c.path("sa.key"),
		"--root-ca-file="+c.path("certs/apiserver.crt"), "--kube-api-qps=500", "--kube-api-burst=1000",
		"--concurrent-replicaset-syncs=20", "--concurrent-gc-syncs=40", "--v=1",
		// A claim that is created before its volume is looked at again then only.
		"--pvclaimbinder-sync-period=1s",
		"--controllers=*,-node-lifecycle-controller,-taint-eviction-controller,-device-taint-eviction-controller,-node-ipam-controller")
	return c.ControllerManager.Start(ctx)
}

// writeFiles writes what the API server reads. It makes its own certificate.
func (c *ControlPlane) writeFiles() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(c.path("sa.key"), text, 0o600); err != nil {
		return err
	}
	return os.WriteFile(c.path("tokens.csv"), []byte(adminToken+",admin,admin-uid,\"system:masters\"\n"), 0o600)
}

// apiReady is green once the namespace "default" is there, which /readyz does not wait for. Until then each probe reads the
// certificate again, as the API server may still be writing it.
func (c *ControlPlane) apiReady(ctx context.Context) error {
	client := c.Client
	if client == nil {
		config, err := c.Config()
		if err != nil {
			return err // before the API server has made its certificate
		}
		if client, err = kubernetes.NewForConfig(config); err != nil {
			return err
		}
	}
	if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return err
	}
	if _, err := client.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	c.Client = client
	return nil
}

// accountReady is green once pods can be created, for which the namespace must have its service account.
func (c *ControlPlane) accountReady(ctx context.Context) error {
	_, err := c.Client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
	return err
}

// Config is how the administrator connects, without a limit of calls.
func (c *ControlPlane) Config() (*rest.Config, error) {
	ca, err := os.ReadFile(c.path("certs/apiserver.crt"))
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host: c.url, BearerToken: adminToken, TLSClientConfig: rest.TLSClientConfig{CAData: ca}, QPS: -1,
		ContentConfig: rest.ContentConfig{
			ContentType: "application/vnd.kubernetes.protobuf", AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
	}, nil
}

// Authorize makes a request the administrator's.
func (c *ControlPlane) Authorize(r *http.Request) {
	r.Header.Set("Authorization", "Bearer "+adminToken)
}

// Kubeconfig writes the file with which a program connects by a token, and returns its path.
func (c *ControlPlane) Kubeconfig(name, token string) (string, error) {
	path := c.path(name + ".kubeconfig")
	return path, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: e2e, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: user, user: {token: %q}}]
contexts: [{name: e2e, context: {cluster: e2e, user: user}}]
current-context: e2e
`, c.url, c.path("certs/apiserver.crt"), token), 0o600)
}

// Spawn starts a program that ends with the control plane, and waits until it is ready.
func (c *ControlPlane) Spawn(ctx context.Context, name, path string, ready func(context.Context) error, args ...string) (*Process, error) {
	p := c.process(name, path, ready, args...)
	return p, p.Start(ctx)
}

// binary is the path of one of the control plane's commands.
func (c *ControlPlane) binary(name string) string { return filepath.Join(c.bin, name) }

func (c *ControlPlane) process(name, path string, ready func(context.Context) error, args ...string) *Process {
	p := newProcess(c.dir, name, path, ready, args)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.all = append(c.all, p)
	return p
}

// Stop ends everything that was started.
func (c *ControlPlane) Stop() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var group errgroup.Group
	for _, p := range c.all {
		group.Go(func() error { p.Kill(); return nil })
	}
	_ = group.Wait()
}

// Logs is the last lines of what each process wrote.
func (c *ControlPlane) Logs(lines int) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var out strings.Builder
	for _, p := range c.all {
		fmt.Fprintf(&out, "--- %s\n%s\n", p.Log(), p.Tail(lines))
	}
	return out.String()
}

func (c *ControlPlane) path(name string) string { return filepath.Join(c.dir, name) }
