package batch

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
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

// decided is how many pods of a group have a node already. One that failed does not count: another takes its place.
func (s *Scheduler) decided(key groupKey) (int, error) {
	members, err := s.pods.ByIndex(groupIndex, key.String())
	if err != nil {
		return 0, err
	}
	n := 0
	for _, o := range members {
		p := o.(*corev1.Pod)
		counted, _ := s.cluster.NodeOf(p.UID)
		if p.Spec.NodeName != "" && p.Status.Phase != corev1.PodFailed || counted != "" {
			n++
		}
	}
	return n, nil
}
