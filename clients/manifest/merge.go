package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// entry is an object that was read.
type entry struct {
	kind   kind
	at     string
	file   int
	digest [32]byte
	object metav1.Object
	// raw is the manifest of an object without a uid.
	raw []byte
	// before is the object in the cluster, if object is that with changes.
	before metav1.Object
}

// Applied is an object of a cluster with a manifest applied to it.
type Applied struct {
	Object metav1.Object
	// Removed and Kept are the paths of the fields that the object had and the manifest lacks, defaults of the API server aside. A manifest
	// that could not create the object, a patch, lacks none.
	Removed, Kept []string
}

// told describes the fields that the manifest lacks.
func (a *Applied) told() string {
	var out []string
	if len(a.Removed) > 0 {
		out = append(out, "removes "+strings.Join(a.Removed, ", "))
	}
	if len(a.Kept) > 0 {
		out = append(out, "keeps "+strings.Join(a.Kept, ", "))
	}
	return strings.Join(out, "; ")
}

// merge takes in a further object of the same identity. An object with a uid is the state of a cluster; one without is
// applied to it, in whatever order they are read. Otherwise the later one replaces the earlier one.
func (r *Reader) merge(known *entry, later entry) error {
	state, change, stated := known, &later, later.object.GetUID() != ""
	if stated {
		state, change = &later, known
	}
	if state.object.GetUID() == "" || change.object.GetUID() != "" {
		if !same(known.object, later.object) {
			r.tell("%s replaces %s", later.at, known.at)
		}
		*known = later
		return nil
	}
	var manifest map[string]any
	if err := json.Unmarshal(change.raw, &manifest); err != nil {
		return err
	}
	if status, _ := manifest["status"].(map[string]any); len(status) > 0 {
		r.tell("%s: its status is left out, as kubectl apply does", change.at)
	}
	merged, err := r.applied(known.kind, state, change, manifest)
	if err != nil {
		return err
	}
	if !same(state.object, merged) {
		r.tell("%s changes %s", change.at, state.at)
	}
	before := state.before
	if before == nil {
		before = state.object
	}
	// An error of the object is told of the file that changes it.
	*known = entry{kind: known.kind, at: change.at, file: later.file, digest: later.digest, object: merged, before: before}
	return nil
}

// applied returns an object of a cluster with a manifest applied to it.
func (r *Reader) applied(k kind, state, change *entry, manifest map[string]any) (metav1.Object, error) {
	if custom, ok := state.object.(*kube.CustomWorkload); ok {
		return custom.With(change.object.(*kube.CustomWorkload)), nil
	}
	if r.Apply == nil {
		return nil, fmt.Errorf("metadata.name: Duplicate value: %q is there already: %s", state.object.GetName(), state.at)
	}
	out, err := r.Apply(state.object, k.empty(), manifest)
	if fields := out.told(); fields != "" {
		r.tell("%s lacks fields of %s: %s", change.at, state.at, fields)
	}
	return out.Object, err
}

// same reports whether objects differ in nothing but what kubectl and the API server note about them.
func same(a, b metav1.Object) bool {
	plain := func(o metav1.Object) metav1.Object {
		out := o.(runtime.Object).DeepCopyObject()
		out.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		m := out.(metav1.Object)
		m.SetManagedFields(nil)
		m.SetResourceVersion("")
		annotations := m.GetAnnotations()
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		m.SetAnnotations(annotations)
		return m
	}
	return equality.Semantic.DeepEqual(plain(a), plain(b))
}

// maximumTold bounds the lines about objects that change others.
const maximumTold = 10

func (r *Reader) tell(format string, args ...any) {
	if r.toldCount++; r.toldCount <= maximumTold {
		r.told = append(r.told, fmt.Sprintf(format, args...))
	}
}

// Told returns a line for each object that changes or replaces one of another file, up to a number.
func (r *Reader) Told() []string {
	if more := r.toldCount - maximumTold; more > 0 {
		return append(slices.Clone(r.told), fmt.Sprintf("and so with %d more", more))
	}
	return r.told
}
