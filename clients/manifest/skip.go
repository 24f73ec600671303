package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unread are the objects that a Reader skips.
type unread struct {
	kinds     map[string]int    // objects by kind
	workloads map[string]int    // objects with pods
	deciding  map[string]int    // objects on which placements may depend
	groups    map[string]string // unsupported versions of PodGroups, by name
}

func newUnread() unread {
	return unread{map[string]int{}, map[string]int{}, map[string]int{}, map[string]string{}}
}

func (u unread) clone() unread {
	return unread{maps.Clone(u.kinds), maps.Clone(u.workloads), maps.Clone(u.deciding), maps.Clone(u.groups)}
}

// Skipped returns the numbers of skipped objects by kind, except kinds that have nothing to do with scheduling.
func (r *Reader) Skipped() []string { return counted(r.unread.kinds) }

// SkippedWorkloads returns the numbers of skipped objects with pods, by kind.
func (r *Reader) SkippedWorkloads() []string { return counted(r.unread.workloads) }

// SkippedDeciding returns the numbers of skipped objects on which placements may depend, by kind: workloads whose pods do not
// exist yet, and quotas, by which the API server refuses pods.
func (r *Reader) SkippedDeciding() []string { return counted(r.unread.deciding) }

func counted(kinds map[string]int) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		out = append(out, fmt.Sprintf("%d %s", kinds[k], k))
	}
	return out
}

// skipped is the result for an object of an unknown kind.
func skipped(kind string, t metav1.TypeMeta, raw []byte) found {
	var object struct {
		Metadata struct{ UID string }
		Spec     any
	}
	legible := json.Unmarshal(raw, &object) == nil
	pods := lists(customWithPods, t) || !lists(customWithoutPods, t) && legible && hasPods(object.Spec)
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

// hasPods reports whether a spec belongs to a workload: it contains a list of containers, a number of replicas, or a template
// with a spec, as in a virtual machine.
func hasPods(spec any) bool {
	fields, _ := spec.(map[string]any)
	template, _ := fields["template"].(map[string]any)
	_, made := template["spec"].(map[string]any)
	replicas, _ := fields["replicas"].(float64)
	return made || replicas > 0 || hasContainers(spec)
}

// hasContainers reports whether a spec contains a list of containers.
func hasContainers(tree any) bool {
	switch t := tree.(type) {
	case map[string]any:
		for key, value := range t {
			if _, isList := value.([]any); isList && key == "containers" || hasContainers(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(t, hasContainers)
	}
	return false
}

// helmTest reports whether an object is a hook of "helm test" alone: installing or upgrading a chart does not create it.
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
