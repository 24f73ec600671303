package deploy

import (
	"io/fs"
	"os"
	"path"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/deploy/deploytest"
)

// manifests is what the directory kubernetes holds, one object of each kind.
type manifests struct {
	namespace           corev1.Namespace
	serviceAccount      corev1.ServiceAccount
	configMap           corev1.ConfigMap
	deployment          appsv1.Deployment
	service             corev1.Service
	podDisruptionBudget policyv1.PodDisruptionBudget
	networkPolicy       networkingv1.NetworkPolicy
	clusterRoleBinding  rbacv1.ClusterRoleBinding
	serviceMonitor      deploytest.ServiceMonitor
}

// objects returns the objects of Kubernetes' own kinds by file.
func (m *manifests) objects() map[string]runtime.Object {
	return map[string]runtime.Object{
		"namespace.yaml":           &m.namespace,
		"serviceaccount.yaml":      &m.serviceAccount,
		"configmap.yaml":           &m.configMap,
		"deployment.yaml":          &m.deployment,
		"service.yaml":             &m.service,
		"poddisruptionbudget.yaml": &m.podDisruptionBudget,
		"networkpolicy.yaml":       &m.networkPolicy,
		"clusterrolebinding.yaml":  &m.clusterRoleBinding,
	}
}

const (
	serviceMonitorFile = "prometheus/servicemonitor.yaml"
	certificatesFile   = "certificates.yaml" // deploytest.Read knows its kinds
)

// read parses the manifests like the API server's strict validation: by their kinds, rejecting unknown and duplicate fields, and fields
// in the wrong case.
func read(t *testing.T) *manifests {
	t.Helper()
	scheme := runtime.NewScheme()
	groups := runtime.NewSchemeBuilder(corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme,
		rbacv1.AddToScheme)
	if err := groups.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	m := new(manifests)
	for name, into := range m.objects() {
		got, _, err := decoder.Decode(content(t, name), nil, into)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got != into {
			t.Fatalf("%s is a %v, want a %v", name, reflect.TypeOf(got), reflect.TypeOf(into))
		}
	}
	strict(t, serviceMonitorFile, &m.serviceMonitor)
	return m
}

func content(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(path.Join("kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func strict(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(content(t, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestEveryFileIsTestedAndListed(t *testing.T) {
	tested := map[string]bool{serviceMonitorFile: true, certificatesFile: true}
	for name := range new(manifests).objects() {
		tested[name] = true
	}
	listed := map[string]bool{}
	for _, dir := range []string{".", "prometheus"} {
		var kustomization struct {
			metav1.TypeMeta `json:",inline"`
			Resources       []string `json:"resources"`
		}
		strict(t, path.Join(dir, "kustomization.yaml"), &kustomization)
		for _, r := range kustomization.Resources {
			listed[path.Join(dir, r)] = true
		}
	}
	err := fs.WalkDir(os.DirFS("kubernetes"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Base(name) == "kustomization.yaml" {
			return err
		}
		if !tested[name] || !listed[name] {
			t.Errorf("%s: tested %t, listed in a kustomization %t", name, tested[name], listed[name])
		}
		delete(listed, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range listed {
		t.Errorf("%s is listed and does not exist", name)
	}
}

func TestOneNamespace(t *testing.T) {
	m := read(t)
	for name, o := range m.objects() {
		meta := o.(metav1.Object)
		if meta.GetLabels()["app.kubernetes.io/part-of"] != "stowage" {
			t.Errorf("%s is not labelled as part of stowage", name)
		}
		clusterWide := o == runtime.Object(&m.namespace) || o == runtime.Object(&m.clusterRoleBinding)
		if !clusterWide && meta.GetNamespace() != m.namespace.Name {
			t.Errorf("%s is in namespace %q, want %q", name, meta.GetNamespace(), m.namespace.Name)
		}
	}
	if m.serviceMonitor.Kind != "ServiceMonitor" || m.serviceMonitor.Namespace != m.namespace.Name {
		t.Errorf("%s is a %s in %q", serviceMonitorFile, m.serviceMonitor.Kind, m.serviceMonitor.Namespace)
	}
}
