package deploy

import (
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// TestKrewManifest expects a platform with its own archive each, and a command that says in its usage that it is a plugin.
func TestKrewManifest(t *testing.T) {
	text, err := os.ReadFile("krew/stowage.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var plugin struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Version, Homepage, ShortDescription, Description, Caveats string
			Platforms                                                 []struct {
				Selector         metav1.LabelSelector
				URI, Sha256, Bin string
			}
		}
	}
	if err := yaml.UnmarshalStrict(text, &plugin); err != nil {
		t.Fatal(err)
	}
	if n := len(plugin.Spec.ShortDescription); n == 0 || n > 50 {
		t.Errorf("the short description has %d letters, 1 to 50 are allowed", n)
	}
	for _, p := range plugin.Spec.Platforms {
		system, processor := p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]
		if !strings.HasSuffix(p.URI, "_"+system+"_"+processor+".tar.gz") {
			t.Errorf("%s, %s: %s", system, processor, p.URI)
		}
		if want := map[bool]string{true: "kubectl-stowage.exe", false: "kubectl-stowage"}[system == "windows"]; p.Bin != want {
			t.Errorf("%s, %s: %s", system, processor, p.Bin)
		}
	}
	if len(plugin.Spec.Platforms) == 0 {
		t.Error("no platforms")
	}
}
