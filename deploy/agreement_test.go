package deploy

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
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

func selects(t *testing.T, selector *metav1.LabelSelector, set map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return !s.Empty() && s.Matches(labels.Set(set))
}

func TestSelectorsSelectThePods(t *testing.T) {
	m := read(t)
	pods := m.deployment.Spec.Template
	selectors := map[string]*metav1.LabelSelector{
		"Deployment":          m.deployment.Spec.Selector,
		"Service":             {MatchLabels: m.service.Spec.Selector},
		"PodDisruptionBudget": m.podDisruptionBudget.Spec.Selector,
		"NetworkPolicy":       &m.networkPolicy.Spec.PodSelector,
	}
	for _, c := range pods.Spec.TopologySpreadConstraints {
		selectors["spread by "+c.TopologyKey] = c.LabelSelector
	}
	if len(selectors) != 6 {
		t.Errorf("%d selectors, want those of four objects and two spread constraints", len(selectors))
	}
	for name, selector := range selectors {
		if !selects(t, selector, pods.Labels) {
			t.Errorf("%s does not select the pods", name)
		}
	}
	if !selects(t, &m.serviceMonitor.Spec.Selector, m.service.Labels) {
		t.Error("the ServiceMonitor does not select the Service")
	}
}

func TestReferences(t *testing.T) {
	m := read(t)
	spec := m.deployment.Spec.Template.Spec
	if spec.ServiceAccountName != m.serviceAccount.Name {
		t.Errorf("service account %q, want %q", spec.ServiceAccountName, m.serviceAccount.Name)
	}
	for where, automount := range map[string]*bool{
		"service account": m.serviceAccount.AutomountServiceAccountToken, "pod": spec.AutomountServiceAccountToken,
	} {
		if automount == nil || *automount {
			t.Errorf("the %s mounts a token", where)
		}
	}
	server := m.server(t)
	if len(spec.Volumes) != 1 || spec.Volumes[0].ConfigMap == nil || spec.Volumes[0].ConfigMap.Name != m.configMap.Name {
		t.Fatalf("volumes %v, want the ConfigMap alone", spec.Volumes)
	}
	if len(server.VolumeMounts) != 1 || server.VolumeMounts[0].Name != spec.Volumes[0].Name {
		t.Fatalf("mounts %v, want the ConfigMap alone", server.VolumeMounts)
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
	if n := len(m.networkPolicy.Spec.PolicyTypes); n != 2 || len(m.networkPolicy.Spec.Egress) != 0 {
		t.Errorf("the NetworkPolicy has %d types and %d egress rules", n, len(m.networkPolicy.Spec.Egress))
	}
	for _, e := range m.serviceMonitor.Spec.Endpoints {
		if e.Port != "admin" {
			t.Errorf("the ServiceMonitor scrapes port %q", e.Port)
		}
	}
}

// The restricted profile of the pod security standards, which the namespace enforces.
func TestRestricted(t *testing.T) {
	m := read(t)
	if got := m.namespace.Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
		t.Errorf("the namespace enforces %q", got)
	}
	spec := m.deployment.Spec.Template.Spec
	pod, container := spec.SecurityContext, m.server(t).SecurityContext
	if pod == nil || container == nil || container.Capabilities == nil || pod.SeccompProfile == nil {
		t.Fatal("a security context is missing")
	}
	drop := container.Capabilities.Drop
	for what, ok := range map[string]bool{
		"runs as root":               pod.RunAsNonRoot != nil && *pod.RunAsNonRoot,
		"has no seccomp profile":     pod.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"may gain privileges":        container.AllowPrivilegeEscalation != nil && !*container.AllowPrivilegeEscalation,
		"may write to its image":     container.ReadOnlyRootFilesystem != nil && *container.ReadOnlyRootFilesystem,
		"keeps capabilities":         len(drop) == 1 && drop[0] == "ALL" && len(container.Capabilities.Add) == 0,
		"is in the host's namespace": !spec.HostNetwork && !spec.HostPID && !spec.HostIPC,
		"sees other Services":        spec.EnableServiceLinks != nil && !*spec.EnableServiceLinks,
	} {
		if !ok {
			t.Errorf("the server %s", what)
		}
	}
}
