package deploy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stowage-scheduler/stowage/deploy/deploytest"
)

// server returns the Deployment's only container.
func (m *manifests) server(t *testing.T) corev1.Container {
	t.Helper()
	containers := m.deployment.Spec.Template.Spec.Containers
	if len(containers) != 1 {
		t.Fatalf("%d containers, want 1", len(containers))
	}
	return containers[0]
}

// ports returns the container's ports by name.
func (m *manifests) ports(t *testing.T) map[string]int32 {
	t.Helper()
	ports := map[string]int32{}
	for _, p := range m.server(t).Ports {
		ports[p.Name] = p.ContainerPort
	}
	return ports
}

func TestReferences(t *testing.T) {
	m := read(t)
	spec := m.deployment.Spec.Template.Spec
	if spec.ServiceAccountName != m.serviceAccount.Name {
		t.Errorf("service account %q, want %q", spec.ServiceAccountName, m.serviceAccount.Name)
	}
	if a := m.serviceAccount.AutomountServiceAccountToken; a == nil || *a {
		t.Error("every pod of the service account mounts a token")
	}
	if a := spec.AutomountServiceAccountToken; a == nil || !*a || deployed(t, m).TokenReviewURL == "" {
		t.Error("the pod has no token, or no use for it")
	}
	server := m.server(t)
	if v := spec.Volumes; len(v) != 2 || v[0].ConfigMap == nil || v[0].ConfigMap.Name != m.configMap.Name || v[1].Secret == nil {
		t.Fatalf("volumes %v, want the ConfigMap and a Secret", spec.Volumes)
	}
	if len(server.VolumeMounts) != 2 || server.VolumeMounts[0].Name != spec.Volumes[0].Name {
		t.Fatalf("mounts %v, want the ConfigMap and the Secret", server.VolumeMounts)
	}
	want := "--config=" + server.VolumeMounts[0].MountPath + "/" + configKey
	if len(server.Args) == 0 || server.Args[len(server.Args)-1] != want {
		t.Errorf("arguments %q, want %s as the last", server.Args, want)
	}
}

func TestImageIsTheOneThatIsBuilt(t *testing.T) {
	tag, err := os.ReadFile("image/tag")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := read(t).server(t).Image, "stowage-server:"+strings.TrimSpace(string(tag)); got != want {
		t.Errorf("image %s, want %s", got, want)
	}
}

func TestPortsAgree(t *testing.T) {
	m := read(t)
	ports := m.ports(t)
	// number resolves a port that may be given by name, as Kubernetes does.
	number := func(p intstr.IntOrString) int32 {
		if p.Type == intstr.String {
			return ports[p.StrVal]
		}
		return p.IntVal
	}
	for _, p := range m.service.Spec.Ports {
		if p.Port != ports[p.Name] || number(p.TargetPort) != ports[p.Name] {
			t.Errorf("port %s of the Service is %d to %s, want %d", p.Name, p.Port, p.TargetPort.String(), ports[p.Name])
		}
	}
	if len(m.service.Spec.Ports) != 2 || m.service.Spec.ClusterIP != corev1.ClusterIPNone {
		t.Errorf("the Service has %d ports and address %q", len(m.service.Spec.Ports), m.service.Spec.ClusterIP)
	}
	var open []int32
	for _, rule := range m.networkPolicy.Spec.Ingress {
		for _, p := range rule.Ports {
			open = append(open, number(*p.Port))
		}
	}
	if len(open) != 2 || open[0] != ports["grpc"] || open[1] != ports["admin"] {
		t.Errorf("the NetworkPolicy opens %v, want %v", open, ports)
	}
	// Token reviews go to the API server, by whatever address it has.
	var out []string
	for _, rule := range m.networkPolicy.Spec.Egress {
		for _, p := range rule.Ports {
			out = append(out, fmt.Sprint(*p.Protocol, " ", p.Port))
		}
	}
	if n := len(m.networkPolicy.Spec.PolicyTypes); n != 2 || !slices.Equal(out, []string{"TCP 443", "TCP 6443", "UDP 53", "TCP 53"}) {
		t.Errorf("the NetworkPolicy has %d types and lets out %v", n, out)
	}
	for _, e := range m.serviceMonitor.Spec.Endpoints {
		if e.Port != "admin" {
			t.Errorf("the ServiceMonitor scrapes port %q", e.Port)
		}
	}
}

// TestManifestsFit looks at what is applied together: selectors, references, ports, probes, and the restricted profile of the pod
// security standards, which the namespace enforces.
func TestManifestsFit(t *testing.T) {
	if got := read(t).namespace.Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		t.Errorf("the namespace enforces %q", got)
	}
	for _, dirs := range [][]string{
		{"kubernetes", "kubernetes/prometheus"}, {"kubernetes", "extender"}, {"kubernetes", "batch"},
		{"kubernetes", "extender", "batch", "kubernetes/prometheus", "kubernetes/insecure"},
	} {
		objects := deploytest.Kustomize(t, ".", dirs...)
		if len(objects) < 8 {
			t.Errorf("%v: only %d objects", dirs, len(objects))
		}
		for _, p := range deploytest.Problems(objects) {
			t.Errorf("%v: %s", dirs, p)
		}
	}
}
