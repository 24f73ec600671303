package remedy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Edited returns a pod with a change of its spec.
func Edited(c *stowagev1.Change, pod *corev1.Pod) (*corev1.Pod, error) {
	out := pod.DeepCopy()
	if err := edit(&out.Spec, pod.Namespace, c); err != nil {
		return nil, err
	}
	return out, nil
}

// Scaled gives a workload a number of replicas.
func Scaled(of Workload, replicas uint32) *Fix {
	return &Fix{Commands: []string{quote.Command("kubectl scale", []string{strings.ToLower(of.Kind), of.Name},
		"--namespace="+of.Namespace, fmt.Sprintf("--replicas=%d", replicas))}}
}

// DeletePod is the command that deletes a pod.
func DeletePod(namespace, name string) string {
	return quote.Command("kubectl delete pod", []string{name}, "--namespace="+namespace)
}

// Deleted deletes a pod.
func Deleted(namespace, name string) *Fix {
	return &Fix{Commands: []string{DeletePod(namespace, name)}, Note: unbudgeted}
}

// DeletedClaim deletes a ResourceClaim.
func DeletedClaim(namespace, name string) *Fix {
	return &Fix{Commands: []string{quote.Command("kubectl delete resourceclaim", []string{name}, "--namespace="+namespace)}}
}

// Prioritized gives the pods of a workload a PriorityClass.
func Prioritized(of Workload, class string) (*Fix, error) {
	fields, err := of.fields([]*stowagev1.Change{{}})
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(below(fields, map[string]any{"priorityClassName": class}))
	return &Fix{Commands: []string{of.command()}, Patch: text}, err
}

// Recreated adds the strategy Recreate to the patch of a Deployment: its old pods leave before new ones come.
func Recreated(fix *Fix) (*Fix, error) {
	var patch struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(fix.Patch, &patch); err != nil {
		return nil, err
	}
	patch.Spec["strategy"] = map[string]any{"type": "Recreate", "rollingUpdate": nil}
	text, err := yaml.Marshal(patch)
	return &Fix{Commands: fix.Commands, Patch: text}, err
}

// below returns a value below the fields of an object.
func below(fields []string, value any) any {
	for _, field := range slices.Backward(fields) {
		value = map[string]any{field: value}
	}
	return value
}
