package oracle

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// reserver is a plugin that reserves for a pod what Filter found for it on a node.
type reserver interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
	fwk.ReservePlugin
}

// reserveBy has a plugin reserve what a pod gets on a node, in a cycle of its own. It returns false if the plugin skips the pod.
func (s *Scheduler) reserveBy(p reserver, pod *corev1.Pod, node uint32) (reserved bool, err error) {
	info, err := s.snapshot.Get(s.Nodes[node].Name)
	if err != nil {
		return false, err
	}
	all, err := s.snapshot.List()
	if err != nil {
		return false, err
	}
	state := framework.NewCycleState()
	_, status := p.PreFilter(s.ctx, state, pod, all)
	if status.IsSkip() {
		return false, nil
	}
	if status.IsSuccess() {
		status = p.Filter(s.ctx, state, pod, info)
	}
	if status.IsSuccess() {
		status = p.Reserve(s.ctx, state, pod, info.Node().Name)
	}
	if !status.IsSuccess() {
		return false, fmt.Errorf("%s of %s on %s: %w", p.Name(), pod.Name, info.Node().Name, status.AsError())
	}
	return true, nil
}
