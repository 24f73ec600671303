package verdict

// Consolidation is a sequence of actions after which the nodes of a cluster cost less.
type Consolidation struct {
	Actions []ConsolidateAction
	// Before and After are the costs of the candidates and of new nodes, before the first action and after the last one.
	Before, After int64
	// Bound is a lower bound of After for any actions, and Optimal whether it is proven that none lead to less, and there are no
	// doubts about the pods that the actions move.
	Bound   int64
	Optimal bool
	// Kept are the candidates that are left, ascending; none if Partial.
	Kept  []KeptNode
	Steps int
	// Partial reports whether the context ended the search.
	Partial bool
}

// ConsolidateAction is nodes that are drained and removed together, after at most one new node was added. Indexes of new nodes
// follow the indexes of the cluster's nodes, in the order of actions.
type ConsolidateAction struct {
	Drain *Drain
	// Template is the template of the new node, -1 for none. Node and Name are the node's index and name.
	Template      int
	Node          uint32
	Name          string
	Before, After int64
}

// KeptReason is why a candidate is left.
type KeptReason uint8

// The reasons.
const (
	// KeptForPods: pods cannot be evicted or have no other node.
	KeptForPods KeptReason = iota + 1
	// KeptForReturn: a pod comes back to the node while it is cordoned.
	KeptForReturn
	// KeptForPrice: its price is 0.
	KeptForPrice
	// KeptByLimit: it can be drained, but a limit ended the search.
	KeptByLimit
)

// KeptNode is a candidate that is left, and what draining it alone after the last action leads to.
type KeptNode struct {
	Drain  *Drain
	Reason KeptReason
}
