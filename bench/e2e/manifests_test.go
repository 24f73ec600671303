package e2e

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// TestManifests has the API server look at every manifest in deploy, as `kubectl apply --server-side --dry-run=server
// --validate=strict` does. It does not have cert-manager's kinds, which the tests of deploy read.
func TestManifests(t *testing.T) {
	s := start(t)
	paths, err := stack.Manifests(repository)
	must(t, err)
	force := true
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			all, err := stack.Read(path)
			must(t, err)
			for _, u := range all {
				if u.GroupVersionKind().Group == "cert-manager.io" {
					continue
				}
				resource, err := s.Of(u)
				must(t, err)
				text, err := json.Marshal(u)
				must(t, err)
				if _, err := resource.Patch(t.Context(), u.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{
					FieldManager: "e2e", Force: &force, DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
				}); err != nil {
					t.Errorf("%s %s: %v", u.GetKind(), u.GetName(), err)
				}
			}
		})
	}
	if len(paths) < 20 {
		t.Errorf("only %d manifests", len(paths))
	}
}
