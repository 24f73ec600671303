package kube

import (
	"errors"
	"iter"

	corev1 "k8s.io/api/core/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ErrCounted is the error of a Snapshot that was built with Options.CountPods, where the pods are needed.
var ErrCounted = errors.New("the snapshot was built with CountPods: its pods have no names")

// PodsOn iterates over the pods of a node of the cluster, by its index, with the objects that were added.
func (s *Snapshot) PodsOn(node int) (iter.Seq2[*corev1.Pod, *stowagev1.Pod], error) {
	pods, residents := s.Cluster.Nodes[node].Pods, s.residents[node]
	if len(pods) != len(residents) || len(s.Cluster.Nodes[node].PodCounts) > 0 {
		return nil, ErrCounted
	}
	return func(yield func(*corev1.Pod, *stowagev1.Pod) bool) {
		for i, r := range residents {
			if !yield(r.facts.stamp.pod, pods[i]) {
				return
			}
		}
	}, nil
}

// PendingPod converts a further pending pod, with a template of its own, as Build converts those of the queue. It may be called
// concurrently.
func (s *Snapshot) PendingPod(p *corev1.Pod) (*stowagev1.Pod, error) {
	f := factsOf(podOrigin(p), specPath, stamp{pod: p, count: 1})
	out, err := s.admission.pendingPod(f)
	if err != nil {
		return nil, err
	}
	s.around.complete(out, f)
	return out, nil
}

// RunningPod converts a further pod on a node, with a template of its own, as Build converts those that were added. It may be
// called concurrently.
func (s *Snapshot) RunningPod(p *corev1.Pod) Occupant { return s.admission.running(p) }
