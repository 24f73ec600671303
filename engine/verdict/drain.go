package verdict

// DrainStatus is the outcome of a drain.
type DrainStatus uint8

// The outcomes.
const (
	// Drained: all pods that have to leave did, and all pods that come back have a node.
	Drained DrainStatus = iota + 1
	// DrainUnplaced: all pods that have to leave did, but some that come back have no node.
	DrainUnplaced
	// DrainBlocked: some pods cannot be evicted.
	DrainBlocked
)

// Drain is the outcome of draining nodes.
type Drain struct {
	Nodes  []uint32
	Status DrainStatus
	// Evicted, Placed and Staying are numbers of pods: evicted pods, returned pods with a node, and pods that cannot be evicted.
	Evicted, Placed, Staying int
	// Terminating is the number of evicted pods that were terminating already.
	Terminating int
	// Rounds is the number of rounds that evicted pods.
	Rounds int
	// Moves are the pods that were placed, if requested.
	Moves    []PodMove
	Unplaced []UnplacedPod
	Blocked  []BlockedPod
	// Preempted are the pods that returned pods preempted.
	Preempted []PodReference
	Doubts    []Doubt
	// Truncated reports whether lists are cut, because all lists of the call would be longer than MaxListedPods or MaxListedText.
	Truncated bool
}

// MaxListedPods bounds what the lists of all drains of a call have: pods of Moves, entries of the other lists, and budgets.
// MaxListedText bounds the bytes of their names and messages, names of nodes not counted, so that an answer is below the 2 GiB
// that gRPC sends.
const (
	MaxListedPods = 2_000_000
	MaxListedText = 1 << 30
)

// PodMove is equal pods of one node that were evicted and placed.
type PodMove struct {
	Pod PodReference
	// Nodes are their new nodes.
	Nodes []uint32
	// Round is the round in which they were evicted.
	Round int
}

// UnplacedPod is equal pods of one node that were evicted and have no node.
type UnplacedPod struct {
	Pod PodReference
	// Message is the event text of the first one.
	Message string
	// Unknown reports whether the cluster does not specify what comes back.
	Unknown bool
}

// BlockedReason is why a pod cannot be evicted.
type BlockedReason uint8

// The reasons.
const (
	// BlockedByBudget: a PodDisruptionBudget allows no further eviction.
	BlockedByBudget BlockedReason = iota + 1
	// BlockedBySeveralBudgets: several PodDisruptionBudgets select the pod.
	BlockedBySeveralBudgets
	// BlockedWithoutController: the pod has no controller.
	BlockedWithoutController
	// BlockedByEmptyDir: the pod has an emptyDir volume.
	BlockedByEmptyDir
	// BlockedWithoutDaemonSet: the DaemonSet of the pod does not exist.
	BlockedWithoutDaemonSet
	// BlockedAsDaemonSetPod: the pod is a DaemonSet's.
	BlockedAsDaemonSetPod
	// BlockedByOutdatedBudget: the status of the pod's PodDisruptionBudget is older than its spec.
	BlockedByOutdatedBudget
)

// BlockedPod is equal pods of one node that cannot be evicted.
type BlockedPod struct {
	Pod    PodReference
	Reason BlockedReason
	// Budgets are the names of the PodDisruptionBudgets that select the pods, which are in their namespace.
	Budgets []string
}

// DrainSummary is the result of all drains of a call.
type DrainSummary struct {
	// Drained is the number of nodes with the status Drained, of Total.
	Drained, Total int
	// UpperBound is an upper bound of the number of nodes that can be drained one after another. Proven reports whether no order drains
	// more nodes than Drained. Steps is the number of search steps. All three are about the largest set.
	UpperBound int
	Proven     bool
	Steps      int
}
