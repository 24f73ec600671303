package words

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Whole is what changes that would place one of a workload's pods do for all of them. Where other workloads' pods are pending too,
// nothing is said.
type Whole struct {
	// Pods is how many pods the workload has to place.
	Pods uint32
	// With has for changes how many of the pods then have a node.
	With []*stowagev1.FitChange
	// Nodes is how many nodes like NodesLike, added together, give all pods a node; 0 if that is not known.
	Nodes     uint32
	NodesLike uint32
	// Joint says that all pods have a node if they are placed together.
	Joint bool
	// Queue says that Pods are all pending pods, of several workloads.
	Queue bool
}

// jointly describes a joint placement.
func (h *Whole) jointly() string {
	if h.Queue {
		return fmt.Sprintf("joint placement of all %d pending pods, as stowage place --joint and the batch scheduler's "+
			"--pod-group-mode=joint do; then all have a node", h.Pods)
	}
	return fmt.Sprintf("joint placement, as stowage place --joint and the batch scheduler's --pod-group-mode=joint do; then all %d have a node", h.Pods)
}

// Remedies describes what would place a pod: what does more than place it first, then changes of the pod or a node, then changes of its
// workload.
func (x *Explanation) Remedies(changes []*stowagev1.Change) []string {
	out := []string{}
	if text := x.InPlace(); text != "" {
		out = append(out, text)
	}
	if x.Whole != nil && x.Whole.Joint {
		out = append(out, x.Whole.jointly())
	}
	for _, c := range changes {
		out = append(out, x.Change(c)+x.Whole.then(c)+x.comeBack(c))
	}
	return append(out, x.Advice...)
}

// Placed returns how many pods have a node with a change, 0 if that is not known.
func (h *Whole) Placed(c *stowagev1.Change) uint32 {
	if h == nil {
		return 0
	}
	for _, with := range h.With {
		if proto.Equal(with.GetChange(), c) {
			return min(with.GetUnits(), h.Pods)
		}
	}
	return 0
}

// then says how many pods have a node with a change; empty if that is not known.
func (h *Whole) then(c *stowagev1.Change) string {
	n := h.Placed(c)
	switch {
	case n == 0:
		return ""
	case n == h.Pods:
		return fmt.Sprintf("; then all %d have a node", n)
	case h.Nodes > 0 && c.GetAddedNode() != nil && c.GetAddedNode().GetLikeNodeIndex() == h.NodesLike:
		return fmt.Sprintf("; then %d of %d have a node, and all with %d such nodes", n, h.Pods, h.Nodes)
	}
	return fmt.Sprintf("; then %d of %d have a node", n, h.Pods)
}

// Returning is the fate of pods that leave their nodes to make room, once the pod has its node and their controllers have created them
// again.
type Returning struct {
	Nodes    []string // of replacements that have one
	Unplaced int
}

// comeBack reports the fate of the pods that a change takes off their nodes; empty if it is not known.
func (x *Explanation) comeBack(c *stowagev1.Change) string {
	r := x.Returning[c]
	if r == nil {
		return ""
	}
	pods := len(c.GetVictims().GetPods())
	switch {
	case r.Unplaced == 1 && pods == 1:
		return "; it is created again, and has no node then"
	case r.Unplaced > 0:
		return fmt.Sprintf("; they are created again, and %d of %d have no node then", r.Unplaced, pods)
	case len(r.Nodes) == 0:
		return "; no controller creates " + map[bool]string{true: "it", false: "them"}[pods == 1] + " again"
	case len(r.Nodes) == 1:
		return "; it is created again, and has a node, " + r.Nodes[0]
	}
	return "; they are created again, and have nodes, " + Names(WithCounts(r.Nodes))
}
