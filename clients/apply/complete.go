package apply

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// whole are the paths of the parts that a complete manifest replaces in an object without a last applied manifest. Other fields of the
// object stay, because controllers set them, as an autoscaler does with spec.replicas.
var whole = [][]string{
	{"spec", "template", "spec"},
	{"spec", "template", "metadata", "labels"},
	{"spec", "jobTemplate", "spec", "template", "spec"},
	{"spec", "jobTemplate", "spec", "template", "metadata", "labels"},
	{"spec", "selector"},
	{"spec", "minAvailable"},
	{"spec", "maxUnavailable"},
	{"spec", "unhealthyPodEvictionPolicy"},
	{"overhead"},
	{"scheduling"},
}

// wholeOf returns the parts of an object that a complete manifest replaces, as a tree.
func wholeOf(object map[string]any) map[string]any {
	out := map[string]any{}
	for _, at := range whole {
		if part, ok := undefaulted(inside(object, at), at[len(at)-1]); ok {
			put(out, at, part)
		}
	}
	return out
}

// complete reports whether a manifest could create its object: a workload has containers and, unless it is a Job, a selector; a budget
// and a Service have a selector; a RuntimeClass has a handler.
func complete(manifest map[string]any) bool {
	some := func(at ...string) bool {
		switch part := inside(manifest, at).(type) {
		case []any:
			return len(part) > 0
		case nil:
			return false
		}
		return true
	}
	switch manifest["kind"] {
	case "CronJob":
		return some("spec", "jobTemplate", "spec", "template", "spec", "containers")
	case "Job":
		return some("spec", "template", "spec", "containers")
	case "PodDisruptionBudget", "Service":
		return some("spec", "selector")
	case "RuntimeClass":
		return some("handler")
	}
	return some("spec", "template", "spec", "containers") && some("spec", "selector")
}

// lacked returns the paths of the fields of an object that a complete manifest lacks: the removed fields and the kept fields.
func lacked(object map[string]any, applied metav1.Object, manifest map[string]any) (removed, kept []string, err error) {
	if !complete(manifest) {
		return nil, nil, nil
	}
	after, err := treeOf(applied)
	if err != nil {
		return nil, nil, err
	}
	for _, root := range []string{"spec", "overhead", "scheduling"} {
		had, ok := undefaulted(object[root], root)
		if !ok {
			continue
		}
		removed = append(removed, missing(had, after[root], root, field.NewPath(root))...)
		left, _ := undefaulted(after[root], root)
		kept = append(kept, missing(left, manifest[root], root, field.NewPath(root))...)
	}
	return removed, kept, nil
}

// treeOf returns an object as a tree.
func treeOf(o metav1.Object) (out map[string]any, err error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(text, &out)
}

// inside returns the value at a path, nil if there is none.
func inside(tree any, at []string) any {
	for _, name := range at {
		object, _ := tree.(map[string]any)
		tree = object[name]
	}
	return tree
}

func put(tree map[string]any, at []string, value any) {
	for _, name := range at[:len(at)-1] {
		next, ok := tree[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[name] = next
		}
		tree = next
	}
	tree[at[len(at)-1]] = value
}
