package deploytest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
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
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Object is an object of a manifest.
type Object interface {
	runtime.Object
	metav1.Object
}

// Read parses the documents of a manifest by their kinds. Like the API server's strict validation, it rejects unknown and duplicate
// fields, and fields in the wrong case. It skips empty documents.
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

// digest is the suffix of the names of generated ConfigMaps.
var digest = regexp.MustCompile("-[2456789bcdfghkmt]{10}$")

// Kustomize builds an overlay of directories in root, as `kubectl kustomize` does: kustomizations and components, each with its own
// resources. It removes the digests of generated names.
func Kustomize(t testing.TB, root string, directories ...string) []Object {
	t.Helper()
	disk, memory := os.DirFS(root), filesys.MakeFsInMemory()
	var overlay types.Kustomization
	for _, directory := range directories {
		var k types.Kustomization
		if err := k.Unmarshal(content(t, filepath.Join(root, directory), "kustomization.yaml")); err != nil {
			t.Fatalf("%s/kustomization.yaml: %v", directory, err)
		}
		at := "../" + directory
		if k.Kind == types.ComponentKind {
			overlay.Components = append(overlay.Components, at)
		} else {
			overlay.Resources = append(overlay.Resources, at)
		}
		entries, err := fs.ReadDir(disk, directory)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			if !entry.IsDir() {
				write(t, memory, "/"+directory+"/"+entry.Name(), content(t, filepath.Join(root, directory), entry.Name()))
			}
		}
	}
	text, err := yaml.Marshal(&overlay)
	if err != nil {
		t.Fatal(err)
	}
	write(t, memory, "/overlay/kustomization.yaml", text)
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/overlay")
	if err != nil {
		t.Fatalf("%v: %v", directories, err)
	}
	if text, err = made.AsYaml(); err != nil {
		t.Fatal(err)
	}
	for _, r := range made.Resources() {
		if name := r.GetName(); r.GetKind() == "ConfigMap" && digest.MatchString(name) {
			text = bytes.ReplaceAll(text, []byte(name), []byte(digest.ReplaceAllString(name, "")))
		}
	}
	objects, err := Read(text)
	if err != nil {
		t.Fatalf("%v: %v", directories, err)
	}
	return objects
}

func write(t testing.TB, fs filesys.FileSystem, name string, text []byte) {
	t.Helper()
	if err := fs.WriteFile(name, text); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
