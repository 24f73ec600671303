package controlplane

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// Scheduler starts a kube-scheduler with a KubeSchedulerConfiguration, in which KUBECONFIG stands for the path of the
// administrator's kubeconfig. Its metrics are at the URL that is returned, for the administrator.
func (c *ControlPlane) Scheduler(ctx context.Context, name, configuration string) (p *Process, metrics string, err error) {
	port, err := FreePort()
	if err != nil {
		return nil, "", err
	}
	file := c.path(name + ".yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(configuration, "KUBECONFIG", c.admin)), 0o644); err != nil {
		return nil, "", err
	}
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	p, err = c.Spawn(ctx, name, c.binary("kube-scheduler"), HTTPReady(url+"/readyz"),
		"--config="+file, "--authentication-kubeconfig="+c.admin, "--authorization-kubeconfig="+c.admin,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+c.path(name+"-certs"), "--v=2")
	return p, url + "/metrics", err
}
