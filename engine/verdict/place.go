package verdict

import "github.com/stowage-scheduler/stowage/engine/api"

// Place is the result of placing a queue.
type Place struct {
	// Placements are by queue entry, Groups by group.
	Placements []Placement
	Groups     []PodGroupPlacement
	// Evictions are the evictions of a kube-scheduler queue, in the order of time.
	Evictions []Eviction
	// Bindings are the claims that placed pods bound, in the order in which they did.
	Bindings []ClaimBinding
	// Devices are the devices that placed pods got, in the order in which they did.
	Devices []PodDevices
	// Partial reports that the deadline came before the end.
	Partial bool
	// Stopped reports that the first unplaced pod ended the queue.
	Stopped bool
	Doubts  []Doubt
}

// ClaimBinding is a claim that waited for its pod's node, and got a volume or a node.
type ClaimBinding struct {
	Namespace, Name string // empty for the claim of a pod without a name
	// Volume is the volume that the claim is bound to; empty if one is provisioned for Node.
	Volume string
	Node   uint32
	// Queue is the queue entry of the pod, Pod the number of pods that were placed before.
	Queue, Pod int
}

// PodDevices is the devices that a claim of a placed pod got.
type PodDevices struct {
	Namespace string
	Claim     string // empty for a claim that has no name yet
	Entry     string // of the pod; empty for its extended resources
	Devices   []api.DeviceAllocation
	Node      uint32
	// Queue is the queue entry of the pod, Pod the number of pods that were placed before.
	Queue, Pod int
}

// Placement is the result of one queue entry.
type Placement struct {
	// Nodes are the nodes of the placed pods, in the order of placing.
	Nodes    []uint32
	Unplaced int
	// Unattempted is the number of unplaced pods that the deadline, or the first unplaced pod, left unattempted.
	Unattempted int
	// Scanned is the number of pods that were placed by scanning all nodes.
	Scanned int
	// Evicted is the number of pods that were placed and then evicted, which are neither in Nodes nor in Unplaced, and Attempts
	// the number of attempts to place the entry's pods, both in a kube-scheduler queue.
	Evicted  int
	Attempts uint64
	// Scores are the total scores of jointly placed pods, beside Nodes.
	Scores []int64
	// Failed reports that kube-scheduler's cycle of the first unplaced pod ends with an internal error.
	Failed bool
	// Message, Rejections, Explanation, Changes and Preemption are about the first unplaced pod, as in Filter. Rejections are left out
	// once the call would list more than MaxListedNodes nodes. Preemption is then left out, too, except for its message.
	Message     string
	Rejections  []Rejection
	Explanation *Explanation
	Changes     []Change
	Preemption  *Preemption
}

// GroupStatus is the outcome of a group.
type GroupStatus uint8

// The outcomes.
const (
	// GroupComplete: every pod has a node.
	GroupComplete GroupStatus = iota + 1
	// GroupBestEffort: at least the minimum has a node.
	GroupBestEffort
	// GroupInfeasible: no pod has a node, because fewer than the minimum can have one; for a joint group that is
	// proven.
	GroupInfeasible
	// GroupUndecided: no pod has a node, because the search ended before it found a placement or proved that there is
	// none.
	GroupUndecided
	// GroupUnattempted: the deadline, or the first unplaced pod, came first.
	GroupUnattempted
	// GroupEvicted: pods of the group were evicted, and fewer than the minimum still have a node.
	GroupEvicted
)

// PodGroupPlacement is the result of a group of queue entries.
type PodGroupPlacement struct {
	Name             string
	Status           GroupStatus
	Placed, Unplaced int
	// Domains are the domains of a group with topology keys that was placed in them.
	Domains []Domain
	// First is the entry of the first unplaced pod, -1 for none.
	First   int
	Message string
	// Failed reports that kube-scheduler fails with an internal error on one of the pods.
	Failed bool
	// Preemption is the result of preemption for an unplaced group. It is nil unless requested, where kube-scheduler does not run
	// preemption, and once the call would list more than MaxListedNodes nodes and victims.
	Preemption *GroupPreemption
	// Sum, LocallyOptimal, Conflict, Minimal and Steps describe a jointly placed group, as in Joint.
	Sum            int64
	LocallyOptimal bool
	// Most reports that a jointly placed group has a proof that no more of its pods can be placed, in its domains.
	Most     bool
	Conflict []PodRule
	Minimal  bool
	Steps    int
}

// Domain is the nodes with one value of a topology key.
type Domain struct{ Key, Value string }
