package oracle

import (
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Checks calls each filter plugin on its own for every candidate. A plugin whose PreFilter skips the pod refuses no node, and a
// plugin whose PreFilter refuses the pod refuses every node.
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
			status, err := ask(n)
			if err != nil {
				return nil, err
			}
			if !status.IsSuccess() {
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

// check calls a plugin for a node.
type check func(fwk.NodeInfo) (*fwk.Status, error)

// prepare runs the plugin's PreFilter, if it has one, and returns how to call it for a node: with the node's nominated pods, and
// then without them.
func (s *Scheduler) prepare(plugin fwk.FilterPlugin, pod *corev1.Pod, all []fwk.NodeInfo) check {
	state := framework.NewCycleState()
	var extensions fwk.PreFilterExtensions
	if pre, ok := plugin.(fwk.PreFilterPlugin); ok {
		switch _, status := pre.PreFilter(s.ctx, state, pod, all); {
		case status.IsSkip():
			return func(fwk.NodeInfo) (*fwk.Status, error) { return nil, nil }
		case !status.IsSuccess():
			return func(fwk.NodeInfo) (*fwk.Status, error) { return status, nil }
		}
		extensions = pre.PreFilterExtensions()
	}
	return func(n fwk.NodeInfo) (*fwk.Status, error) {
		if pods := s.yielding(pod, n); len(pods) > 0 {
			with, stateWith := n.Snapshot(), state.Clone()
			for _, p := range pods {
				with.AddPodInfo(p)
				if extensions == nil {
					continue
				}
				if status := extensions.AddPod(s.ctx, stateWith, pod, p, with); !status.IsSuccess() {
					return nil, status.AsError()
				}
			}
			if status := plugin.Filter(s.ctx, stateWith, pod, with); !status.IsSuccess() {
				return status, nil
			}
		}
		return plugin.Filter(s.ctx, state, pod, n), nil
	}
}
