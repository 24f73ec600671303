package report

import (
	"fmt"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// After is what becomes of pods that have a feasible node, once the other pending pods are placed.
type After struct {
	Pods, Unplaced uint32
	// Message is why the first unplaced one has no node.
	Message string
	// First explains the first unplaced one on the nodes as the queue leaves them, and has the changes that would place it; nil if
	// none is unplaced.
	First *stowagev1.Placement
}

// String is empty if all pods have a node.
func (a *After) String() string {
	switch {
	case a == nil || a.Unplaced == 0:
		return ""
	case a.Pods == 1:
		return "alone it would have a node; after the other pending pods it has none: " + a.Message
	}
	return fmt.Sprintf("alone each would have a node; after the other pending pods %d of %d have none: %s", a.Unplaced, a.Pods, a.Message)
}
