package controlplane

import (
	"context"
	"fmt"
	"maps"
	"os"

	"sigs.k8s.io/yaml"
)

// SchedulerOptions are how a kube-scheduler runs.
type SchedulerOptions struct {
	// Configuration is a KubeSchedulerConfiguration. How to reach the API server is filled in, and there is no leader
	// election unless Replace has it.
	Configuration string
	// Kubeconfig is the administrator's if empty.
	Kubeconfig string
	// Replace are fields of the configuration to be replaced.
	Replace map[string]any
}

// Scheduler starts a kube-scheduler. Its metrics are at the URL that is returned, for the administrator.
func (c *ControlPlane) Scheduler(ctx context.Context, name string, o SchedulerOptions) (p *Process, metrics string, err error) {
	if o.Kubeconfig == "" {
		o.Kubeconfig = c.admin
	}
	configuration := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(o.Configuration), &configuration); err != nil {
		return nil, "", err
	}
	configuration["leaderElection"] = map[string]any{"leaderElect": false}
	configuration["clientConnection"] = map[string]any{
		"kubeconfig": o.Kubeconfig, "contentType": "application/vnd.kubernetes.protobuf", "qps": 5000, "burst": 5000,
	}
	maps.Copy(configuration, o.Replace)
	text, err := yaml.Marshal(configuration)
	if err != nil {
		return nil, "", err
	}
	file := c.path(name + ".yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return nil, "", err
	}
	port, err := FreePort()
	if err != nil {
		return nil, "", err
	}
	url := fmt.Sprintf("https://127.0.0.1:%d", port)
	p, err = c.Spawn(ctx, name, c.binary("kube-scheduler"), HTTPReady(url+"/readyz"),
		"--config="+file, "--authentication-kubeconfig="+c.admin, "--authorization-kubeconfig="+c.admin,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+c.path(name+"-certs"), "--v=2")
	return p, url + "/metrics", err
}
