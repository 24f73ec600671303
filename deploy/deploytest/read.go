package deploytest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Object is an object of a manifest.
type Object interface {
	runtime.Object
	metav1.Object
}

// Read parses the documents of a manifest, each by its own kind, with the names of fields in exact case, nothing unknown and
// nothing twice, as the API server does with strict validation. Documents without content are left out.
func Read(text []byte) ([]Object, error) {
	scheme := runtime.NewScheme()
	groups := runtime.NewSchemeBuilder(corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme,
		rbacv1.AddToScheme, autoscalingv2.AddToScheme, flowcontrolv1.AddToScheme, addOperators)
	if err := groups.AddToScheme(scheme); err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var out []Object
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if isEmpty(document) {
			continue
		}
		o, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, o.(Object))
	}
}

func isEmpty(document []byte) bool {
	var content any
	return yaml.Unmarshal(document, &content) == nil && content == nil
}

// kustomization is what the kustomizations of this repository have.
type kustomization struct {
	metav1.TypeMeta    `json:",inline"`
	Resources          []string    `json:"resources"`
	ConfigMapGenerator []generator `json:"configMapGenerator"`
}

type generator struct {
	Name      string   `json:"name"`
	Namespace string   `json:"namespace"`
	Files     []string `json:"files"`
	Options   struct {
		Labels map[string]string `json:"labels"`
	} `json:"options"`
}

// Kustomization reads the resources of a kustomization and generates its ConfigMaps, without the digest in their names.
func Kustomization(t testing.TB, dir string) []Object {
	t.Helper()
	var k kustomization
	if err := yaml.UnmarshalStrict(content(t, dir, "kustomization.yaml"), &k); err != nil {
		t.Fatalf("%s/kustomization.yaml: %v", dir, err)
	}
	var out []Object
	for _, name := range k.Resources {
		objects, err := Read(content(t, dir, name))
		if err != nil {
			t.Fatalf("%s/%s: %v", dir, name, err)
		}
		out = append(out, objects...)
	}
	for _, g := range k.ConfigMapGenerator {
		m := &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace, Labels: g.Options.Labels},
			Data:       map[string]string{},
		}
		for _, name := range g.Files {
			m.Data[name] = string(content(t, dir, name))
		}
		out = append(out, m)
	}
	return out
}

func content(t testing.TB, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
