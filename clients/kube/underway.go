package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// UnderWay is the rollout of a Deployment whose pods are of several revisions.
type UnderWay struct {
	Rollout
	// OnNodes are the pods of older revisions, Fresh those of the new one, with nodes.
	OnNodes, Fresh []*corev1.Pod
}

// UnderWay returns the rolling update that creates a pending pod, as far as it has gone; nil if there is none: the pod is of no
// Deployment that was added, or no pod of an older revision is on a node.
func (s *Snapshot) UnderWay(e *Entry) *UnderWay {
	if e.Object() == nil || len(e.owners) < 3 || e.owners[1].Kind != "ReplicaSet" {
		return nil
	}
	set, of := e.owners[1], e.owners[2]
	d := s.deployments[of]
	if d == nil || d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || s.Rollout(of) != nil {
		return nil
	}
	out := &UnderWay{Rollout: Rollout{Origin: of, Replicas: int(replicasOf(d.Spec.Replicas)), Before: int(replicasOf(d.Spec.Replicas))}}
	for p := range s.OnNodes() {
		switch owners := s.Owners(p.Pod); {
		case p.Pod.DeletionTimestamp != nil || len(owners) < 3 || owners[2] != of:
		case owners[1] == set:
			out.Fresh = append(out.Fresh, p.Pod)
		default:
			out.OnNodes = append(out.OnNodes, p.Pod)
		}
	}
	var err error
	if out.MaxSurge, out.MaxUnavailable, err = fenceposts(d); err != nil || len(out.OnNodes) == 0 {
		return nil
	}
	out.New = e.Object().DeepCopy()
	out.New.Name, out.New.UID = set.Name, ""
	return out
}

// MaxUnavailable returns how many pods of a Deployment a rolling update may make unavailable. It is not known of a Deployment that was
// not added, and of one with the strategy Recreate.
func (s *Snapshot) MaxUnavailable(of Origin) (n int, known bool) {
	d := s.deployments[of]
	if d == nil || d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0, false
	}
	_, n, err := fenceposts(d)
	return n, err == nil
}
