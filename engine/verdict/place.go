package verdict

// Place is what became of a queue.
type Place struct {
	// Placements are by queue entry, Groups by group.
	Placements []Placement
	Groups     []Group
	// Partial says that the deadline came before the end.
	Partial bool
}

// Placement is what became of one queue entry.
type Placement struct {
	// Nodes are the placed pods' nodes in the order of placing.
	Nodes    []uint32
	Unplaced int
	// Unattempted is how many of the unplaced pods the deadline left unattempted.
	Unattempted int
	// Scanned is for how many of the pods every node was asked about, as nothing faster is known for them.
	Scanned int
	// Scores are the total scores of the pods of a group that is placed jointly, beside Nodes.
	Scores []int64
	// Failed says that kube-scheduler ends the cycle of the first unplaced pod with an internal error.
	Failed bool
	// Message, Rejections, Explanation and Changes tell of the first unplaced pod. Rejections are left out once those of
	// the call would list more than MaxListedNodes.
	Message     string
	Rejections  []Rejection
	Explanation *Explanation
	Changes     []Change
}

// GroupStatus is what became of a group.
type GroupStatus uint8

// The outcomes.
const (
	// GroupComplete: every pod has a node.
	GroupComplete GroupStatus = iota + 1
	// GroupBestEffort: at least the minimum has.
	GroupBestEffort
	// GroupInfeasible: none has, as fewer than the minimum can; jointly, that is proven.
	GroupInfeasible
	// GroupUndecided: none has, as the search ended before it was known whether there is a placement.
	GroupUndecided
	// GroupUnattempted: the deadline came first.
	GroupUnattempted
)

// Group is what became of a group of queue entries.
type Group struct {
	Name             string
	Status           GroupStatus
	Placed, Unplaced int
	// Domains are where the group went, if it was to be in one domain or few and that succeeded.
	Domains []Domain
	// First is the entry of the first pod that found no node, -1 if there is none.
	First   int
	Message string
	// Failed says that kube-scheduler fails on one of the pods with an internal error.
	Failed bool
	// Of a group that is placed jointly, as in Joint.
	Sum      int64
	Settled  bool
	Conflict []JointRule
	Minimal  bool
	Steps    int
}

// Domain is the nodes with one value of a topology key.
type Domain struct{ Key, Value string }
