package apply

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// whole is where the parts of an object are that a manifest without a last applied one is the whole of. Other fields of the
// object stay: controllers set them, as an autoscaler does with spec.replicas.
var whole = [][]string{
	{"spec", "template", "spec"},
	{"spec", "template", "metadata", "labels"},
	{"spec", "jobTemplate", "spec", "template", "spec"},
	{"spec", "jobTemplate", "spec", "template", "metadata", "labels"},
}

// lastApplied returns the last applied manifest of an object. For an object without one it is what the object has in the parts that
// a complete manifest is the whole of; lacks are the fields that the manifest therefore removes.
func lastApplied(current metav1.Object, manifest map[string]any) (original []byte, lacks []string, err error) {
	if last, ok := current.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok {
		return []byte(last), nil, nil
	}
	if !complete(manifest) {
		return nil, nil, nil
	}
	text, err := json.Marshal(current)
	if err != nil {
		return nil, nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, nil, err
	}
	out := map[string]any{}
	for _, at := range whole {
		part, ok := undefaulted(inside(tree, at), at[len(at)-1])
		if !ok {
			continue
		}
		put(out, at, part)
		lacks = append(lacks, missing(part, inside(manifest, at), field.NewPath(at[0], at[1:]...))...)
	}
	original, err = json.Marshal(out)
	return original, lacks, err
}

// complete reports whether a manifest could create its object: it has containers, and the selector that all workloads but Jobs need.
func complete(manifest map[string]any) bool {
	some := func(at ...string) bool {
		list, _ := inside(manifest, at).([]any)
		return len(list) > 0
	}
	if some("spec", "jobTemplate", "spec", "template", "spec", "containers") {
		return true
	}
	return some("spec", "template", "spec", "containers") && (manifest["kind"] == "Job" || inside(manifest, []string{"spec", "selector"}) != nil)
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

// defaults are values that the API server gives to fields without one (pkg/apis/core/v1/defaults.go, pkg/apis/apps/v1/defaults.go,
// v1.37): a manifest that lacks such a field does not remove it. nil is for every value.
var defaults = map[string][]any{
	"restartPolicy":                 {"Always"},
	"dnsPolicy":                     {"ClusterFirst"},
	"schedulerName":                 {corev1.DefaultSchedulerName},
	"terminationGracePeriodSeconds": {30.0},
	"terminationMessagePath":        {corev1.TerminationMessagePathDefault},
	"terminationMessagePolicy":      {"File"},
	"imagePullPolicy":               nil, // by the image's tag
	"serviceAccount":                nil, // a copy of serviceAccountName
	"creationTimestamp":             nil,
	"protocol":                      {"TCP"},
	"scheme":                        {"HTTP"},
	"apiVersion":                    {"v1"},
	"timeoutSeconds":                {1.0},
	"periodSeconds":                 {10.0},
	"successThreshold":              {1.0},
	"failureThreshold":              {3.0},
	"defaultMode":                   {420.0},
	"type":                          {""},
	"enableServiceLinks":            {true},
}

// verbatim are objects whose keys are no fields.
var verbatim = map[string]bool{"labels": true, "matchLabels": true, "nodeSelector": true, "requests": true, "limits": true}

// undefaulted returns a value without what the API server gives by default. ok is false if nothing is left.
func undefaulted(value any, name string) (out any, ok bool) {
	if known, listed := defaults[name]; value == nil || listed && (known == nil || slices.ContainsFunc(known, func(d any) bool { return reflect.DeepEqual(d, value) })) {
		return nil, false
	}
	switch v := value.(type) {
	case map[string]any:
		if verbatim[name] {
			return v, len(v) > 0
		}
		object := map[string]any{}
		for key, inner := range v {
			if left, ok := undefaulted(inner, key); ok {
				object[key] = left
			}
		}
		return object, len(object) > 0
	case []any:
		list := make([]any, len(v))
		for i := range v {
			if list[i], ok = undefaulted(v[i], ""); !ok {
				list[i] = v[i]
			}
		}
		return list, len(list) > 0
	}
	return value, true
}

// missing returns the paths of what an object has and a manifest lacks.
func missing(has, manifest any, path *field.Path) []string {
	switch h := has.(type) {
	case map[string]any:
		m, ok := manifest.(map[string]any)
		if !ok {
			return []string{path.String()}
		}
		var out []string
		for _, key := range slices.Sorted(maps.Keys(h)) {
			if _, ok := m[key]; !ok {
				out = append(out, path.Child(key).String())
				continue
			}
			out = append(out, missing(h[key], m[key], path.Child(key))...)
		}
		return out
	case []any:
		if m, ok := manifest.([]any); ok {
			return missingItems(h, m, path)
		}
		return []string{path.String()}
	}
	return nil
}

// missingItems compares lists by the names of their items. Other lists are replaced as a whole.
func missingItems(has, manifest []any, path *field.Path) []string {
	var out []string
	for i := range has {
		name, named := nameOf(has[i])
		if !named {
			return nil
		}
		at := slices.IndexFunc(manifest, func(m any) bool { of, _ := nameOf(m); return of == name })
		if at < 0 {
			out = append(out, path.Key(name).String())
			continue
		}
		out = append(out, missing(has[i], manifest[at], path.Index(at))...)
	}
	return out
}

func nameOf(item any) (string, bool) {
	object, _ := item.(map[string]any)
	name, ok := object["name"].(string)
	return name, ok
}
