package whatif

import (
	"slices"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Rollout is how the rollout of a Deployment, StatefulSet or DaemonSet goes.
type Rollout struct {
	Object
	// Strategy is RollingUpdate or Recreate.
	Strategy string `json:"strategy"`
	// MaxSurge and MaxUnavailable are numbers of pods, 0 with Recreate.
	MaxSurge       int `json:"maxSurge"`
	MaxUnavailable int `json:"maxUnavailable"`
	// Partition is the number of pods of a StatefulSet that keep the old revision, the pods with the lowest ordinals.
	Partition int `json:"partition,omitempty"`
	// Replicas is the number of pods in the end, Placed how many pods of the new revision have a node, Old how many pods of the
	// old revision are left.
	Replicas int `json:"replicas"`
	Placed   int `json:"placed"`
	Old      int `json:"old"`
	// Complete says that all pods but the Partition are of the new revision, and that all have nodes.
	Complete bool `json:"complete"`
	// Steps are what happens, in order.
	Steps []Step `json:"steps"`
	// Stuck is why the rollout is stuck, absent if it is complete.
	Stuck *Stuck `json:"stuck,omitempty"`
	// Broken are new pods whose node would reject them once the rollout is complete: required rules of theirs counted old pods, and do not
	// hold without them.
	Broken []Broken `json:"broken,omitempty"`
	// MatchLabelKey is the key with which, in matchLabelKeys of the hard spread constraints, no pod is Broken; empty if there is none.
	MatchLabelKey string `json:"matchLabelKey,omitempty"`

	// Doubts are about the pods that are created.
	Doubts []*stowagev1.Doubt `json:"-"`
}

// Step is what the controller does at a time.
type Step struct {
	// Created is the number of pods that are created, OldRevision says that they are of the old revision, which is scaled first.
	Created     int  `json:"created"`
	OldRevision bool `json:"oldRevision"`
	// Placed are the nodes of the pods that find one, pods of earlier steps included.
	Placed []string `json:"placed"`
	// Waiting is the number of pods that have no node after the step.
	Waiting int `json:"waiting"`
	// Left are the old pods that leave afterwards.
	Left []Left `json:"left"`
}

// Left is an old pod that leaves. Node is empty if it had none.
type Left struct {
	Name string `json:"name"`
	Node string `json:"node"`
}

// Broken is the new pods on a node that would reject each of them alone.
type Broken struct {
	Node    string `json:"node"`
	Pods    int    `json:"pods"`
	Message string `json:"message"`
}

// Fine reports whether the rollout comes to its end, and all required rules hold there.
func (r *Rollout) Fine() bool { return r.Complete && len(r.Broken) == 0 }

// Stuck is why a rollout is stuck.
type Stuck struct {
	// Message is kube-scheduler's event text for the first pod without a node.
	Message string `json:"message"`
	// WaitsFor is the pod of a StatefulSet that is not ready, so that no other one is replaced.
	WaitsFor string `json:"waitsFor,omitempty"`
	// OwnPods says that the pod would find a node if the old pods that are left were gone: the rollout waits for itself.
	OwnPods bool `json:"ownPods"`
	// InPlace says that a Deployment's rollout would be complete with a maxSurge of 0 and a maxUnavailable of 1.
	InPlace bool `json:"inPlace"`
	// Victims are pods of lower priority that kube-scheduler would evict for the pod; what follows is not decided.
	Victims []string `json:"victims"`
}

// Fine reports whether rollouts come to their end, and all required rules hold there.
func Fine(all []*Rollout) bool {
	return !slices.ContainsFunc(all, func(r *Rollout) bool { return !r.Fine() })
}

// AllPlaced reports whether every pod of an answer to PlaceRequest has a node, except pods that rollouts replace.
func AllPlaced(s *kube.Snapshot, a *stowagev1.PlaceResponse, rollouts []*Rollout) bool {
	replaced := func(o kube.Origin) bool {
		return slices.ContainsFunc(rollouts, func(r *Rollout) bool { return r.Object == objectOf(o) })
	}
	left := a.GetUnplacedCount() + a.GetEvictedCount()
	for i := range s.Queue {
		if s.Queue[i].Of(replaced) {
			p := a.GetPlacements()[i]
			left -= p.GetUnplacedCount() + p.GetEvictedCount()
		}
	}
	return left == 0
}
