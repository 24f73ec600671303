package deploy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/batch"
)

func batchObject(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("batch", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// The Deployment's arguments, port and probes fit the command, and its lease is the one that the role allows.
func TestBatchDeployment(t *testing.T) {
	var d appsv1.Deployment
	batchObject(t, "deployment.yaml", &d)
	container := d.Spec.Template.Spec.Containers[0]
	var c batch.Config
	parser, err := kong.New(&c)
	if err == nil {
		_, err = parser.Parse(container.Args)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, port := splitPort(t, c.AdminAddress); len(container.Ports) != 1 || container.Ports[0].ContainerPort != port {
		t.Errorf("the admin address is %s, the ports are %v", c.AdminAddress, container.Ports)
	}
	if container.ReadinessProbe.HTTPGet.Port.StrVal != "admin" || container.LivenessProbe.HTTPGet.Port.StrVal != "admin" {
		t.Error("a probe asks another port")
	}
	if !c.LeaderElect || c.LeaseNamespace != d.Namespace {
		t.Errorf("lease %s/%s, elected: %v", c.LeaseNamespace, c.LeaseName, c.LeaderElect)
	}
	var role rbacv1.Role
	batchObject(t, "role.yaml", &role)
	allowed := false
	for _, r := range role.Rules {
		allowed = allowed || len(r.ResourceNames) == 1 && r.ResourceNames[0] == c.LeaseName
	}
	if !allowed {
		t.Errorf("the role does not allow the lease %s", c.LeaseName)
	}
}
