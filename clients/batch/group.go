package batch

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The labels by which pods say that they are a group.
const (
	GroupNameLabel    = "pod-group.scheduling.sigs.k8s.io/name"
	MinAvailableLabel = "pod-group.scheduling.sigs.k8s.io/min-available"
)

type groupKey struct{ namespace, name string }

func (k groupKey) String() string { return k.namespace + "/" + k.name }

// groupOf is the group that a pod is in, if any.
func groupOf(p *corev1.Pod) (groupKey, bool) {
	name := p.Labels[GroupNameLabel]
	return groupKey{p.Namespace, name}, name != ""
}

// minAvailable is how many of a pod's group have to have a node, 0 if the pod does not say.
func minAvailable(p *corev1.Pod) (int, error) {
	text, ok := p.Labels[MinAvailableLabel]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("metadata.labels[%s]: Invalid value: %q: must be a number of pods", MinAvailableLabel, text)
	}
	return int(n), nil
}

// groupIndex indexes pods by their group.
const groupIndex = "stowage-group"

func indexByGroup(o any) ([]string, error) {
	if p, ok := o.(*corev1.Pod); ok {
		if key, ok := groupOf(p); ok {
			return []string{key.String()}, nil
		}
	}
	return nil, nil
}

// decided is how many pods of a group that have not ended have a node already.
func (s *Scheduler) decided(key groupKey) (int, error) {
	members, err := s.pods.ByIndex(groupIndex, key.String())
	if err != nil {
		return 0, err
	}
	n := 0
	for _, o := range members {
		if node, _ := s.cluster.NodeOf(o.(*corev1.Pod).UID); node != "" {
			n++
		}
	}
	return n, nil
}

// succeeded is how many pods of a group have done their work, which the informer leaves out. One that failed does not
// count: another takes its place.
func (s *Scheduler) succeeded(ctx context.Context, key groupKey) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	members, err := s.api.CoreV1().Pods(key.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{GroupNameLabel: key.name}.String(), ResourceVersion: "0", // from the API server's memory
	})
	if err != nil {
		return 0, because(failed, "pod group %s: cannot ask how many of its pods have succeeded: %w", key.name, err)
	}
	n := 0
	for _, p := range members.Items {
		if p.Status.Phase == corev1.PodSucceeded {
			n++
		}
	}
	return n, nil
}
