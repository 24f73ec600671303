package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/alecthomas/kong"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
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

// What the API server weighs is what the account of the Deployment asks, and its lease.
func TestBatchFlowSchemas(t *testing.T) {
	var account corev1.ServiceAccount
	batchObject(t, "serviceaccount.yaml", &account)
	var role rbacv1.Role
	batchObject(t, "role.yaml", &role)
	text, err := os.ReadFile(filepath.Join("batch", "flowschemas.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	levels := map[string]string{} // of bindings and leases
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var f flowcontrolv1.FlowSchema
		if err := yaml.UnmarshalStrict(document, &f); err != nil {
			t.Fatal(err)
		}
		for _, rule := range f.Spec.Rules {
			for _, subject := range rule.Subjects {
				if a := subject.ServiceAccount; a == nil || a.Name != account.Name || a.Namespace != account.Namespace {
					t.Errorf("%s is about %v", f.Name, subject)
				}
			}
			for _, r := range rule.ResourceRules {
				for _, resource := range r.Resources {
					levels[resource] = f.Spec.PriorityLevelConfiguration.Name
				}
				if slices.Contains(r.Resources, "leases") && !slices.Equal(r.Namespaces, []string{role.Namespace}) {
					t.Errorf("%s is about leases in %v", f.Name, r.Namespaces)
				}
			}
		}
	}
	if levels["pods/binding"] != "workload-high" || levels["leases"] != "leader-election" || levels["events"] != "" ||
		levels["pods/status"] != "" {
		t.Errorf("the levels are %v", levels)
	}
}
