package verdict

// WhatIf is the result of a scenario.
type WhatIf struct {
	// Place is the placements: entries of the scenario's queue first, then one for each of Requeued.
	Place
	// Requeued are the pods that come back: the evicted pods, then the pods that the queue preempted. Unknown ones come last.
	Requeued []Requeued
}

// Requeued is equal evicted or preempted pods of one node that come back.
type Requeued struct {
	Pod PodReference
	// Preempted reports whether a pod of the queue preempted them.
	Preempted bool
	// Unknown reports whether the cluster does not specify what comes back. The pods count as unplaced.
	Unknown bool
}
