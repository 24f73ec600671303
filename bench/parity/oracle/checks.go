package oracle

import (
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Checks asks each filter plugin on its own about every candidate. A plugin whose PreFilter skips the pod refuses no
// node, and one whose PreFilter refuses the pod refuses every node.
func (s *Scheduler) Checks(pod *corev1.Pod) ([]Check, error) {
	all, err := s.snapshot.List()
	if err != nil {
		return nil, err
	}
	candidates, err := s.snapshot.ListNodesInPlacement()
	if err != nil {
		return nil, err
	}
	var checks []Check
	for _, plugin := range s.filters {
		ask := s.prepare(plugin, pod, all)
		for _, n := range candidates {
			if status := ask(n); !status.IsSuccess() {
				refusal, err := refusalOf(plugin.Name(), status)
				if err != nil {
					return nil, err
				}
				checks = append(checks, Check{Node: s.index[n.Node().Name], Refusal: refusal})
			}
		}
	}
	return checks, nil
}

// prepare runs the plugin's PreFilter, if it has one, and returns how to ask it about a node.
func (s *Scheduler) prepare(plugin fwk.FilterPlugin, pod *corev1.Pod, all []fwk.NodeInfo) func(fwk.NodeInfo) *fwk.Status {
	state := framework.NewCycleState()
	if pre, ok := plugin.(fwk.PreFilterPlugin); ok {
		switch _, status := pre.PreFilter(s.ctx, state, pod, all); {
		case status.IsSkip():
			return func(fwk.NodeInfo) *fwk.Status { return nil }
		case !status.IsSuccess():
			return func(fwk.NodeInfo) *fwk.Status { return status }
		}
	}
	return func(n fwk.NodeInfo) *fwk.Status { return plugin.Filter(s.ctx, state, pod, n) }
}
