package oracle

import (
	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
)

// PlacementScore is the weighted score of NodeResourcesFit for placing the stored pods of a pod group on nodes of one
// topology domain. None of the pods is on a node yet.
func (s *Scheduler) PlacementScore(domain []uint32, pods []*corev1.Pod) (int64, error) {
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	gates.EnableTopologyAwareWorkloadScheduling = true
	fit, err := noderesources.NewFit(s.ctx, s.fit, s.framework, gates)
	if err != nil {
		return 0, err
	}
	placement := &fwk.Placement{}
	for _, n := range domain {
		info, err := s.snapshot.Get(s.Nodes[n].Name)
		if err != nil {
			return 0, err
		}
		placement.Nodes = append(placement.Nodes, info)
	}
	assignments := &fwk.PodGroupAssignments{Placement: placement}
	for _, p := range pods {
		assignments.ProposedAssignments = append(assignments.ProposedAssignments, proposed{pod: p})
	}
	score, status := fit.(fwk.PlacementScorePlugin).ScorePlacement(s.ctx, nil, nil, assignments)
	return score * s.weights[names.NodeResourcesFit], status.AsError()
}

// proposed is a pod that a pod group would have.
type proposed struct {
	fwk.ProposedAssignment
	pod *corev1.Pod
}

func (p proposed) GetPod() *corev1.Pod { return p.pod }
