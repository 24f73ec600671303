// Package apply applies manifests to objects of a cluster. An object with the annotation of kubectl apply changes as by kubectl apply
// --server-side=false (k8s.io/kubectl/pkg/cmd/apply/patcher.go, v0.37): fields that the last applied manifest had and the new manifest
// lacks are removed, and other fields that only the object has stay. In an object without the annotation, a complete manifest replaces
// all fields that decisions read, except fields that other managers own (docs/0026-manifests-as-a-whole.md).
//
// The package is separate from manifest because apimachinery's patches have many dependencies.
package apply

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/manifest"
)

// Manifest applies a manifest to an object, and writes the result to into, an empty object of its type. It modifies the manifest.
func Manifest(current, into metav1.Object, tree map[string]any) (manifest.Applied, error) {
	object, err := treeOf(current)
	if err != nil {
		return manifest.Applied{}, err
	}
	delete(object, "metadata")
	delete(object, "status")
	if err := state(tree, current.GetNamespace()); err != nil {
		return manifest.Applied{}, err
	}
	modified, original := tree, []byte(current.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	annotated := len(original) > 0
	if !annotated && complete(tree) {
		if original, err = json.Marshal(wholeOf(object)); err != nil {
			return manifest.Applied{}, err
		}
		others, err := othersOf(current)
		if err != nil {
			return manifest.Applied{}, err
		}
		modified, _ = withOwned(tree, object, "", others).(map[string]any)
	}
	text, err := json.Marshal(modified)
	if err != nil {
		return manifest.Applied{}, err
	}
	merge := threeWay
	if !annotated {
		merge = byIdentity
	}
	out := manifest.Applied{}
	if out.Object, err = merged(current, into, merge, original, text); err != nil {
		return manifest.Applied{}, err
	}
	out.Removed, out.Kept, err = lacked(object, out.Object, tree)
	return out, err
}

// merged returns an object after a merge.
func merged(current, into metav1.Object, merge mergeFunc, original, modified []byte) (metav1.Object, error) {
	now, err := json.Marshal(current)
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(into)
	if err != nil {
		return nil, err
	}
	text, err := merge(meta, original, modified, now)
	if err != nil {
		return nil, fmt.Errorf("cannot be applied: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, err
	}
	if pod, ok := into.(*corev1.Pod); ok {
		return into, keepSpec(pod, current.(*corev1.Pod))
	}
	return into, nil
}

// state completes a manifest as kubectl apply does: it sets the namespace and the annotation with the last applied manifest, and removes
// fields that only the API server writes.
func state(tree map[string]any, namespace string) error {
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
		return err
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(self)
	object["annotations"] = annotations
	return nil
}

// defaultTolerations are the taints that every pod tolerates for a time by default
// (plugin/pkg/admission/defaulttolerationseconds, v1.37).
var defaultTolerations = []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable}

// keepSpec completes the spec of a pod after an update, and refuses changes that the API server does not allow
// (pkg/apis/core/validation/validation.go ValidatePodUpdate, v1.37).
func keepSpec(pod, before *corev1.Pod) error {
	for _, t := range before.Spec.Tolerations {
		if slices.ContainsFunc(pod.Spec.Tolerations, func(o corev1.Toleration) bool { return equality.Semantic.DeepEqual(t, o) }) {
			continue
		}
		if !slices.Contains(defaultTolerations, t.Key) {
			return field.Forbidden(field.NewPath("spec", "tolerations"), "the API server does not allow removing tolerations of an existing pod")
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
		return field.Forbidden(field.NewPath("spec"), "the API server allows changes only of images, tolerations and scheduling gates of an "+
			"existing pod; to replace it, leave the pod out of the cluster's manifests")
	}
	return nil
}
