package words

import (
	"fmt"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// After is the fate of pods once the other pending pods are placed, if it differs from their fate alone.
type After struct {
	Pods, Unplaced uint32
	// Message is why the first unplaced one has no node.
	Message string
	// First explains the first unplaced one on the nodes as the queue leaves them, and has the changes that would place it; nil if
	// none is unplaced.
	First *stowagev1.Placement
	// Nodes are the nodes of pods that have none alone, such as pods with a required affinity to another pending pod.
	Nodes []string
}

// Later says that pods have nodes after others; empty if that is not so.
func (a *After) Later() string {
	switch {
	case a == nil || len(a.Nodes) == 0:
		return ""
	case len(a.Nodes) == 1:
		return "alone it would have no node; after the other pending pods it has one: " + a.Nodes[0]
	}
	return fmt.Sprintf("alone it would have no node; after the other pending pods all %d have one: %s", len(a.Nodes), Names(WithCounts(a.Nodes)))
}

// String says that pods have no node after others; empty if all have one.
func (a *After) String() string {
	switch {
	case a == nil || a.Unplaced == 0:
		return ""
	case a.Pods == 1:
		return "alone it would have a node; after the other pending pods it has none: " + a.Message
	}
	return fmt.Sprintf("alone each would have a node; after the other pending pods %d of %d have none: %s", a.Unplaced, a.Pods, a.Message)
}
