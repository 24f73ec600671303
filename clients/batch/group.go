package batch

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The labels of a pod that is in a group.
const (
	GroupNameLabel    = "pod-group.scheduling.sigs.k8s.io/name"
	MinAvailableLabel = "pod-group.scheduling.sigs.k8s.io/min-available"
)

type groupKey struct{ namespace, name string }

func (k groupKey) String() string { return k.namespace + "/" + k.name }

// groupOf returns the group of a pod, if any.
func groupOf(p *corev1.Pod) (groupKey, bool) {
	name := p.Labels[GroupNameLabel]
	return groupKey{p.Namespace, name}, name != ""
}

// minAvailable returns the minimum of a pod's group, 0 if the pod has none.
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

// decided counts the pods of a group that have a node and have not ended.
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

// succeeded counts the pods of a group that have succeeded, which the informer leaves out. A failed pod does not count:
// another replaces it.
func (s *Scheduler) succeeded(ctx context.Context, key groupKey) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	members, err := s.api.CoreV1().Pods(key.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{GroupNameLabel: key.name}.String(), ResourceVersion: "0", // from the API server's watch cache
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
