package report

import (
	"fmt"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Returning is what becomes of pods that leave their nodes to make room, once the pod has its node and their controllers have created them
// again.
type Returning struct {
	Nodes    []string // of those that have one
	Unplaced int
}

// comeBack says what becomes of the pods that a change takes off their nodes; empty if that is not known.
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
	return "; they are created again, and have nodes, " + Names(withCounts(r.Nodes))
}
