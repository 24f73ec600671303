package oracle

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	priority "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

func (s *Scheduler) admitNominated(c *scenario.Case) error {
	for _, p := range c.Nominated {
		if p.Spec.NodeName != "" || p.Status.NominatedNodeName == "" {
			path := field.NewPath("status", "nominatedNodeName")
			errs := field.ErrorList{field.Required(path, "of a pending pod")}
			return &InvalidError{Object: "pod " + p.Namespace + "/" + p.Name, Errs: errs}
		}
		pod, err := StoredPod(p)
		if err != nil {
			return err
		}
		s.Nominated = append(s.Nominated, pod)
	}
	return nil
}

// nominated are all nominated pods, the queue's last.
func (s *Scheduler) nominated() []*corev1.Pod {
	out := slices.Clone(s.Nominated)
	twins := scenario.Twins(s.Queue, s.Nominated)
	for i, p := range s.Queue {
		if p.Status.NominatedNodeName != "" && p.Spec.NodeName == "" && !twins[i] {
			out = append(out, p)
		}
	}
	return out
}

// nominate adds the nominated pods to the scheduling queue, which nominates them and is the framework's PodNominator.
func (s *Scheduler) nominate() {
	for _, p := range s.nominated() {
		s.scheduler.SchedulingQueue.Add(s.ctx, p)
	}
}

// evaluateNominated filters the node that a pod is nominated to, as findNodesThatFitPod does before it filters the
// others (schedule_one.go evaluateNominatedNode, v1.37). It is nil where no such node is a candidate.
func (s *Scheduler) evaluateNominated(
	state fwk.CycleState, pod *corev1.Pod, candidates []fwk.NodeInfo,
) (fwk.NodeInfo, *fwk.Status) {
	i := slices.IndexFunc(candidates, func(n fwk.NodeInfo) bool { return n.Node().Name == pod.Status.NominatedNodeName })
	if i < 0 {
		return nil, nil
	}
	return candidates[i], s.framework.RunFilterPluginsWithNominatedPods(s.ctx, state, pod, candidates[i])
}

// yielding are the node's nominated pods that the pod yields to (framework.go addGENominatedPods, v1.37).
func (s *Scheduler) yielding(pod *corev1.Pod, n fwk.NodeInfo) []fwk.PodInfo {
	return slices.DeleteFunc(s.framework.NominatedPodsForNode(n.Node().Name), func(p fwk.PodInfo) bool {
		return priority.PodPriority(p.GetPod()) < priority.PodPriority(pod) || p.GetPod().UID == pod.UID
	})
}

// fail applies what kube-scheduler does to the nomination of a pod without a node (schedule_one.go schedulingAlgorithm and
// handleSchedulingFailure, v1.37). Place evicts no pod, so it nominates none to another node: it ends the nomination instead.
func (s *Scheduler) fail(pod *corev1.Pod, p *Placement) {
	if p.Unplaced.Gate != nil {
		return // never attempted
	}
	info, kept := fwk.NominatingInfo{NominatingMode: fwk.ModeOverride}, false
	if found := p.Preemption; found != nil && !found.Clears {
		kept = len(found.Best) == 0 || s.Nodes[found.Best[0]].Name == s.nominatedTo(pod)
	}
	if !kept {
		parsed, _ := framework.NewPodInfo(pod) // as in scheduleIn
		s.scheduler.SchedulingQueue.AddNominatedPod(logr.Discard(), parsed, &info)
	}
}

// nominatedTo returns the node that kube-scheduler has nominated a pod to.
func (s *Scheduler) nominatedTo(pod *corev1.Pod) string {
	for _, p := range s.nominated() {
		if p.UID == pod.UID {
			return p.Status.NominatedNodeName
		}
	}
	return ""
}
