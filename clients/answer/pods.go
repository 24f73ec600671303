package answer

import (
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Pod is a pod and its node, or the reason why it has none.
type Pod struct {
	Namespace string `json:"namespace"`
	// Name is the name of the pod. Pods with random names, such as the pods of a Deployment, have the name of the object.
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Replica counts the pods of one name from 0.
	Replica int `json:"replica"`
	// From is the pod's former node, if that is gone.
	From string `json:"from,omitempty"`
	// Node is absent if the pod has none. Reason is then given.
	Node   string `json:"node,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// notAttempted is the reason of pods that the deadline left.
const notAttempted = "not attempted: the deadline passed"

// Evicted is the reason of pods that another pod of the queue preempted.
const Evicted = "placed and then evicted"

// Placements names the pods of a snapshot's placements. It counts the replicas, so that an answer may come in parts.
type Placements struct {
	snapshot *kube.Snapshot
	replicas map[Pod]int
}

// NewPlacements returns names for the pods of a snapshot.
func NewPlacements(s *kube.Snapshot) *Placements {
	return &Placements{s, map[Pod]int{}}
}

// Answer lists the pods of an answer, each beside its node.
func (n *Placements) Answer(a *stowagev1.PlaceResponse) []Pod {
	out := []Pod{}
	for i, p := range a.GetPlacements() {
		out = n.placement(out, i, p)
	}
	return out
}

// Part lists the pods of one part of an answer.
func (n *Placements) Part(a *stowagev1.PlaceStreamResponse) []Pod {
	out := []Pod{}
	for _, p := range a.GetPlacements() {
		out = n.placement(out, int(p.GetQueueIndex()), p.GetPlacement())
	}
	return out
}

// placement appends the pods of a placement of entry i: first pods with a node, then pods that found none, pods
// that were not attempted, and evicted pods.
func (n *Placements) placement(out []Pod, i int, p *stowagev1.Placement) []Pod {
	entry := n.snapshot.Entry(i)
	pod := Pod{Namespace: entry.Origin.Namespace, Name: entry.Origin.Name, Kind: entry.Origin.Kind, From: entry.Gone}
	if pod.Kind == "StatefulSet" {
		pod.Name = entry.Pods.GetPod().GetName()
	}
	add := func(node, reason string) {
		this := pod
		this.Replica, this.Node, this.Reason = n.replicas[pod], node, reason
		n.replicas[pod]++
		out = append(out, this)
	}
	for _, node := range p.GetNodes().GetNames() {
		add(node, "")
	}
	for range p.GetUnplacedCount() - p.GetUnattemptedCount() {
		add("", p.GetMessage())
	}
	for range p.GetUnattemptedCount() {
		add("", notAttempted)
	}
	for range p.GetEvictedCount() {
		add("", Evicted)
	}
	return out
}
