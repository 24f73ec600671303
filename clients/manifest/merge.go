package manifest

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	merged, err := apply(known.kind, state.object, manifest)
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

// apply returns an object with a manifest applied to it as kubectl apply --server-side=false does
// (k8s.io/kubectl/pkg/cmd/apply/patcher.go, v0.37): fields that the last applied manifest had and this one has not are removed,
// and others that only the object has stay.
func apply(k kind, current metav1.Object, tree map[string]any) (metav1.Object, error) {
	manifest, err := stated(tree, current.GetNamespace())
	if err != nil {
		return nil, err
	}
	var original []byte
	if last, ok := current.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok {
		original = []byte(last)
	}
	now, err := json.Marshal(current)
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(k.empty())
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(original, manifest, now, meta, true)
	if err != nil {
		return nil, fmt.Errorf("cannot be applied: %w", err)
	}
	text, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(now, patch, meta)
	if err != nil {
		return nil, fmt.Errorf("cannot be applied: %w", err)
	}
	out := k.empty()
	if err := json.Unmarshal(text, out); err != nil {
		return nil, err
	}
	if pod, ok := out.(*corev1.Pod); ok {
		return out, keepSpec(pod, current.(*corev1.Pod))
	}
	return out, nil
}

// stated returns a manifest as kubectl apply sends it: in its namespace, without what only the API server writes, and with itself as
// the last applied one.
func stated(tree map[string]any, namespace string) ([]byte, error) {
	delete(tree, "status")
	object, _ := tree["metadata"].(map[string]any)
	if object == nil {
		object = map[string]any{}
		tree["metadata"] = object
	}
	for _, name := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"} {
		delete(object, name)
	}
	if namespace != "" {
		object["namespace"] = namespace
	}
	annotations, _ := object["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	self, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(self)
	object["annotations"] = annotations
	return json.Marshal(tree)
}

// defaultTolerations are the taints that the API server lets every pod tolerate for a time
// (plugin/pkg/admission/defaulttolerationseconds, v1.37).
var defaultTolerations = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

// keepSpec completes the spec of a pod after an update, and refuses what the API server does not change
// (pkg/apis/core/validation/validation.go ValidatePodUpdate, v1.37).
func keepSpec(pod, before *corev1.Pod) error {
	for _, t := range before.Spec.Tolerations {
		if slices.ContainsFunc(pod.Spec.Tolerations, func(o corev1.Toleration) bool { return equality.Semantic.DeepEqual(t, o) }) {
			continue
		}
		if !slices.Contains(defaultTolerations, t.Key) {
			return field.Forbidden(field.NewPath("spec", "tolerations"), "the API server takes none away from a pod that exists")
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
	}
	without := func(p *corev1.Pod) *corev1.PodSpec {
		s := p.Spec.DeepCopy()
		s.Tolerations, s.SchedulingGates, s.ActiveDeadlineSeconds, s.TerminationGracePeriodSeconds = nil, nil, nil, nil
		for i := range s.Containers {
			s.Containers[i].Image = ""
		}
		for i := range s.InitContainers {
			s.InitContainers[i].Image = ""
		}
		return s
	}
	if !equality.Semantic.DeepEqual(without(before), without(pod)) {
		return field.Forbidden(field.NewPath("spec"), "the API server changes only images, tolerations and scheduling gates of a pod "+
			"that exists: leave the pod out of the cluster's manifests to create it anew")
	}
	return nil
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
