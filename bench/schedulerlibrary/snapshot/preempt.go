package snapshot

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/simulate"
)

// epoch numbers the states in which a preemption can be undone. A number is never used again, so a handle of a reverted transaction is
// invalid in later ones.
type epoch struct{ now, last uint64 }

func (e *epoch) next() {
	e.last++
	e.now = e.last
}

// begin starts an epoch and returns the one before.
func (e *epoch) begin() (before uint64) {
	before = e.now
	e.next()
	return before
}

// Unpreemption is a handle to undo a preemption.
type Unpreemption struct {
	pods     []*corev1.Pod
	evicted  *simulate.Evicted
	epoch    uint64
	reverted bool
}

// PreemptPods removes pods from their nodes, all or none.
func (s *ClusterSnapshot) PreemptPods(_ context.Context, pods []*corev1.Pod) (*Unpreemption, error) {
	if s.err != nil {
		return nil, s.err
	}
	var names []types.NamespacedName
	for _, p := range pods {
		name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		if p.Spec.NodeName == "" {
			return nil, fmt.Errorf("pod %s has no node name", name)
		}
		if at := s.state.NodeOf(p.Namespace, p.Name); at != p.Spec.NodeName {
			return nil, fmt.Errorf("pod %s is not on node %s", name, p.Spec.NodeName)
		}
		names = append(names, name)
	}
	evicted, err := s.state.Evict(names...)
	if err != nil {
		return nil, err
	}
	return &Unpreemption{pods: pods, evicted: evicted, epoch: s.epoch.now}, s.view.write(s.state, nodesOf(pods)...)
}

// Unpreempt puts preempted pods back on their nodes. The handle is valid until pods are scheduled, and in its transaction alone.
func (s *ClusterSnapshot) Unpreempt(u *Unpreemption) ([]*corev1.Pod, error) {
	switch {
	case u == nil:
		return nil, errors.New("preemption handle is nil")
	case u.epoch != s.epoch.now:
		return nil, errors.New("preemption handle is invalid: snapshot has been permanently mutated since preemption")
	case u.reverted:
		return nil, errors.New("preemption handle is invalid: already unpreempted")
	}
	if err := s.state.Restore(u.evicted); err != nil {
		return nil, err
	}
	u.reverted = true
	return u.pods, s.view.write(s.state, nodesOf(u.pods)...)
}

func nodesOf(pods []*corev1.Pod) (out []string) {
	for _, p := range pods {
		out = append(out, p.Spec.NodeName)
	}
	return out
}
