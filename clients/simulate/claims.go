package simulate

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Bind records what a placement of other pods bound: a claim of a pod to a volume, or to the node that its volume is provisioned for. Schedule
// does so itself. A claim stays bound when its pod leaves, and the pod finds it there when it comes back.
func (s *Snapshot) Bind(pod *stowagev1.Pod, to *stowagev1.ClaimBinding, node string) {
	claim := s.claim(pod, to)
	if to.GetVolumeName() == "" {
		if claim.GetName() != "" {
			claim.SelectedNode = node
			s.now.setClaim(claim)
		}
		return
	}
	volume := s.base.volumes[to.GetVolumeName()]
	if later, ok := s.now.volumes.get(to.GetVolumeName()); ok {
		volume = later
	}
	volume = compact.Shallow(volume)
	volume.Available = false
	volume.Claim = &stowagev1.ClaimReference{Namespace: claim.GetNamespace(), Name: cmp.Or(claim.GetName(), "unnamed"), Uid: claim.GetUid()}
	s.now.volumes = s.now.volumes.set(volume.GetName(), volume)
	s.now.record(change{volume: volume.GetName()})
	if claim.GetName() != "" {
		claim.VolumeName, claim.BindCompleted = volume.GetName(), true
		s.now.setClaim(claim)
	}
}

func (s *state) setClaim(c *stowagev1.PersistentVolumeClaim) {
	key := keyOf(c.GetNamespace(), c.GetName())
	s.claims = s.claims.set(key, c)
	s.record(change{claim: key})
}

// claim returns a copy of a claim of a pod: the cluster's, or as a controller creates it.
func (s *Snapshot) claim(pod *stowagev1.Pod, to *stowagev1.ClaimBinding) *stowagev1.PersistentVolumeClaim {
	key := keyOf(to.GetNamespace(), to.GetName())
	if c, ok := s.now.claims.get(key); ok {
		return compact.Shallow(c)
	}
	if c := s.base.claims[key]; c != nil {
		return compact.Shallow(c)
	}
	all := compact.Claims(s.base.cluster.Cluster, pod)
	if i := slices.IndexFunc(all, func(c *stowagev1.PersistentVolumeClaim) bool { return c.GetName() == to.GetName() }); i >= 0 {
		return all[i]
	}
	return &stowagev1.PersistentVolumeClaim{Namespace: to.GetNamespace(), Name: to.GetName()}
}

// bind records what the pods of the queue bound, up to the last result.
func (q *queue) bind(answer *stowagev1.PlaceResponse, results int) {
	for _, b := range answer.GetClaimBindings() {
		before := 0
		for _, e := range q.entries[:b.GetQueueIndex()] {
			before += int(e.PodCount())
		}
		if before >= results {
			continue
		}
		pod := compact.Shallow(q.entries[b.GetQueueIndex()].GetPod())
		pod.Source = &stowagev1.Pod_Template{Template: q.of[pod.GetTemplateIndex()]}
		q.s.Bind(pod, b, q.s.now.order.names[b.GetNodeIndex()])
	}
}
