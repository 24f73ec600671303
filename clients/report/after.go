package report

import "fmt"

// After is what becomes of pods that have a feasible node, once the other pending pods are placed.
type After struct {
	Pods, Unplaced uint32
	// Message is why the first unplaced one has no node.
	Message string
}

// String is empty if all pods have a node.
func (a *After) String() string {
	switch {
	case a.Unplaced == 0:
		return ""
	case a.Pods == 1:
		return "alone it would have a node; after the other pending pods it has none: " + a.Message
	}
	return fmt.Sprintf("alone each would have a node; after the other pending pods %d of %d have none: %s", a.Unplaced, a.Pods, a.Message)
}
