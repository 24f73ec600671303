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

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
)

// entry is an object with its source.
type entry struct {
	kind   kind
	at     string
	file   int
	digest [32]byte
	object metav1.Object
	// raw is the manifest of an object without a uid.
	raw []byte
	// before is the object in the cluster if object has changes.
	before metav1.Object
}

// Applied is an object of a cluster with a manifest applied to it.
type Applied struct {
	Object metav1.Object
	// Removed and Kept are the paths of the object's fields that are missing in the manifest, except defaults of the API server.
	// Both are empty for a patch: a manifest that could not create the object.
	Removed, Kept []string
}

// missing describes the fields that are missing in the manifest.
func (a *Applied) missing() string {
	var out []string
	if len(a.Removed) > 0 {
		out = append(out, "removes "+strings.Join(a.Removed, ", "))
	}
	if len(a.Kept) > 0 {
		out = append(out, "keeps "+strings.Join(a.Kept, ", "))
	}
	return strings.Join(out, "; ")
}

// merge adds an object to one with the same identity. A manifest, which has no uid, is applied to the state of a cluster, which
// has one, in whichever order the two are read. Otherwise the later object replaces the earlier object.
func (r *Reader) merge(known *entry, later entry) error {
	state, change := known, &later
	if later.object.GetUID() != "" {
		state, change = &later, known
	}
	if state.object.GetUID() == "" || change.object.GetUID() != "" {
		if !same(known.object, later.object) {
			r.notice("%s replaces %s", later.at, known.at)
		}
		*known = later
		return nil
	}
	var manifest map[string]any
	if err := json.Unmarshal(change.raw, &manifest); err != nil {
		return err
	}
	if status, _ := manifest["status"].(map[string]any); len(status) > 0 {
		r.notice("%s: its status is ignored, as by kubectl apply", change.at)
	}
	merged, err := r.applied(known.kind, state, change, manifest)
	if err != nil {
		return err
	}
	if !same(state.object, merged) {
		r.notice("%s changes %s", change.at, state.at)
	}
	before := state.before
	if before == nil {
		before = state.object
	}
	// Errors of the changed object name the file with the change.
	*known = entry{kind: known.kind, at: change.at, file: later.file, digest: later.digest, object: merged, before: before}
	return nil
}

// applied returns an object of a cluster with a manifest applied to it.
func (r *Reader) applied(k kind, state, change *entry, manifest map[string]any) (metav1.Object, error) {
	if custom, ok := state.object.(*controller.CustomWorkload); ok {
		return custom.With(change.object.(*controller.CustomWorkload)), nil
	}
	if r.Apply == nil {
		return nil, fmt.Errorf("metadata.name: Duplicate value: %q already exists: %s", state.object.GetName(), state.at)
	}
	out, err := r.Apply(state.object, k.empty(), manifest)
	if fields := out.missing(); fields != "" {
		r.notice("%s lacks fields of %s: %s", change.at, state.at, fields)
	}
	return out.Object, err
}

// same reports whether objects are equal apart from the bookkeeping of kubectl and the API server.
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

const maximumNotices = 10

func (r *Reader) notice(format string, args ...any) {
	if r.noticeCount++; r.noticeCount <= maximumNotices {
		r.notices = append(r.notices, fmt.Sprintf(format, args...))
	}
}

// Notices returns a line for each object that changes or replaces an object of another file, up to a maximum.
func (r *Reader) Notices() []string {
	if more := r.noticeCount - maximumNotices; more > 0 {
		return append(slices.Clone(r.notices), fmt.Sprintf("and %d more such objects", more))
	}
	return r.notices
}
