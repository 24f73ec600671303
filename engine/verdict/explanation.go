package verdict

import "github.com/stowage-scheduler/stowage/engine/api"

// Explanation tells everything that stands between a pod and each candidate node.
type Explanation struct {
	// Failing holds what each plugin says when asked about every candidate on its own, in ascending order of plugin,
	// then of first node.
	Failing           []Rejection
	Topology          []TopologyCounts
	UntoleratedTaints []UntoleratedTaint
	Shortages         []ResourceShortage
	PortConflicts     []HostPortConflict
	// Truncated says that parts are left out, as the request's explanations reached MaxExplained.
	Truncated bool
}

// Bounds of an explanation.
const (
	// MaxConflictingPods bounds DomainCount.Conflicting.
	MaxConflictingPods = 10
	// MaxExplained bounds what the explanations of one request cost together: 1 for each node that they list, and
	// EntryCost for each domain and each pod.
	MaxExplained = 2_000_000
	EntryCost    = 8
	// MaxListedNodes bounds the nodes that the rejections of one call of Place list together.
	MaxListedNodes = 2_000_000
	// MaxDetails bounds Explanation.Shortages and Explanation.PortConflicts.
	MaxDetails = 1000
)

// TopologyRule is the kind of rule that counts pods per topology domain.
type TopologyRule uint8

// The rules.
const (
	HardSpread TopologyRule = iota + 1
	SoftSpread
	PodAffinity
	PodAntiAffinity
	ExistingPodAntiAffinity
)

// TopologyCounts is what one rule counted.
type TopologyCounts struct {
	Rule TopologyRule
	// Index is the index of the constraint in the pod's constraints, or of the term in its required terms of that kind.
	Index       int
	TopologyKey string
	Selector    string // in kubectl's notation
	Domains     []DomainCount
	Minimum     int64
	MaxSkew     int32
	MinDomains  int32
	SelfMatch   bool
	Uncounted   []UncountedNodes
}

// DomainCount is one topology domain.
type DomainCount struct {
	Value       string
	Matching    int64
	Skew        int64 // Matching - Minimum, with HardSpread
	Feasible    bool
	Nodes       []uint32
	Conflicting []ConflictingPod
}

// ConflictingPod is a pod that stands in the way, or several equal ones on one node.
type ConflictingPod struct {
	Namespace string
	Name      string // empty if only counted
	Node      uint32
	Count     int
	// Template is the index of the pod's template in the cluster, -1 if it has none there.
	Template int
	// Queue is the index of the queue entry that the pod was placed from, -1 if it was on its node before.
	Queue int
}

// UncountedReason is why a node's pods did not count for a spread constraint.
type UncountedReason uint8

// The reasons.
const (
	MissingTopologyKey UncountedReason = iota + 1
	NodeAffinityPolicy
	NodeTaintsPolicy
)

// UncountedNodes is nodes that did not count for one reason.
type UncountedNodes struct {
	Reason UncountedReason
	Nodes  []uint32
}

// UntoleratedTaint is a taint that keeps the pod away.
type UntoleratedTaint struct {
	Taint api.Taint
	Nodes []uint32
}

// ResourceShortage is a resource of which a node has too little.
type ResourceShortage struct {
	Node                         uint32
	Resource                     string
	Requested, Used, Allocatable int64
}

// HostPortConflict is a host port that is taken.
type HostPortConflict struct {
	Node   uint32
	Port   int32
	Holder ConflictingPod
}
