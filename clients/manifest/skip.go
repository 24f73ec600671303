package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Skipped returns the numbers of objects that were not read, by kind, but for those that have nothing to do with scheduling.
func (r *Reader) Skipped() []string { return counted(r.skipped) }

// SkippedWorkloads returns the numbers of objects with pods that were not read, by kind.
func (r *Reader) SkippedWorkloads() []string { return counted(r.workloads) }

// SkippedDeciding returns the numbers of objects that were not read and on which placements may depend, by kind: workloads whose pods no
// cluster has created yet, and quotas, by which the API server refuses pods.
func (r *Reader) SkippedDeciding() []string { return counted(r.deciding) }

func counted(kinds map[string]int) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, fmt.Sprintf("%d %s", kinds[k], k))
	}
	return out
}

// skipped is an object of a kind that is not read.
func skipped(kind string, t metav1.TypeMeta, raw []byte) found {
	var object struct {
		Metadata struct{ UID string }
		Spec     any
	}
	legible := json.Unmarshal(raw, &object) == nil
	pods := lists(customWithPods, t) || !lists(customWithoutPods, t) && legible && statesPods(object.Spec)
	quota := t == metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"}
	return found{
		kind: kind, typed: t, pods: pods, decides: pods && object.Metadata.UID == "" || quota, quiet: !pods && unmentioned(t),
	}
}

// ignores reports whether Ignore names the kind of a skipped object.
func (r *Reader) ignores(t metav1.TypeMeta) bool {
	group, _, named := strings.Cut(t.APIVersion, "/")
	return slices.ContainsFunc(r.Ignore, func(name string) bool {
		return strings.EqualFold(name, t.Kind) || named && strings.EqualFold(name, t.Kind+"."+group)
	})
}

// statesPods reports whether a spec is that of a workload: it contains a list of containers, or has a template with a spec,
// as that of a virtual machine, or a number of replicas.
func statesPods(spec any) bool {
	fields, _ := spec.(map[string]any)
	template, _ := fields["template"].(map[string]any)
	_, made := template["spec"].(map[string]any)
	replicas, _ := fields["replicas"].(float64)
	return made || replicas > 0 || statesContainers(spec)
}

// statesContainers reports whether a spec contains a list of containers, as that of every workload does.
func statesContainers(tree any) bool {
	switch t := tree.(type) {
	case map[string]any:
		for key, value := range t {
			if _, isList := value.([]any); isList && key == "containers" || statesContainers(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(t, statesContainers)
	}
	return false
}

// helmTest reports whether an object is a hook of "helm test" alone: installing and upgrading a chart do not create it.
func helmTest(o metav1.Object) bool {
	hooks, ok := o.GetAnnotations()["helm.sh/hook"]
	if !ok || o.GetUID() != "" {
		return false
	}
	for hook := range strings.SplitSeq(hooks, ",") {
		if hook = strings.TrimSpace(hook); hook != "test" && hook != "test-success" && hook != "test-failure" {
			return false
		}
	}
	return true
}
