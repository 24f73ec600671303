package verdict

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Explanation lists everything that makes candidates infeasible for a pod.
type Explanation struct {
	// Failing holds the rejections of each plugin, evaluated on all candidates, in ascending order of plugin, then of
	// first node.
	Failing           []Rejection
	Topology          []TopologyCounts
	UntoleratedTaints []UntoleratedTaint
	Undeclared        []UndeclaredFeature
	Shortages         []ResourceShortage
	PortConflicts     []HostPortConflict
	ClaimConflicts    []ClaimConflict
	AttachShortages   []AttachShortage
	// VolumeUsers are pods that use a disk of the pod, or a claim that only one pod may use.
	VolumeUsers []PodReference
	Devices     DeviceExplanation
	// Truncated reports that parts are missing because the request's explanations reached MaxExplained.
	Truncated bool
}

// Bounds of an explanation.
const (
	// MaxConflictingPods bounds DomainCount.Conflicting.
	MaxConflictingPods = 10
	// MaxExplained bounds the total cost of the explanations of one request: 1 per listed node, and EntryCost per
	// domain and per pod.
	MaxExplained = 2_000_000
	EntryCost    = 8
	// MaxListedNodes bounds the nodes that the rejections of one call of Place list in total, and the nodes and victims that
	// its preemptions list.
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

// TopologyCounts is the counts of one rule.
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
	Conflicting []PodReference
}

// NoNode is the PodReference.Node of a pod without a node.
const NoNode = math.MaxUint32

// PodReference is a pod of the cluster or of the queue, or several identical ones on one node.
type PodReference struct {
	Namespace string
	Name      string // empty if only counted
	Node      uint32 // NoNode for a pod that has none
	Count     int
	// Template is the index of the pod's template in the cluster, -1 for none.
	Template int
	// Queue is the index of the queue entry that the pod was placed from, -1 for an existing pod.
	Queue int
}

// AppendPods appends pods to a list, or counts them with the last ones if these are equal and none has a name.
func AppendPods(list []PodReference, pods PodReference) []PodReference {
	if n := len(list); n > 0 && pods.Name == "" {
		last := list[n-1]
		if last.Count = pods.Count; last == pods {
			list[n-1].Count += pods.Count
			return list
		}
	}
	return append(list, pods)
}

// UncountedReason is the reason why the pods of a node do not count for a spread constraint.
type UncountedReason uint8

// The reasons.
const (
	MissingTopologyKey UncountedReason = iota + 1
	NodeAffinityPolicy
	NodeTaintsPolicy
)

// UncountedNodes are nodes that do not count for one reason.
type UncountedNodes struct {
	Reason UncountedReason
	Nodes  []uint32
}

// UntoleratedTaint is a taint that the pod does not tolerate.
type UntoleratedTaint struct {
	Taint api.Taint
	Nodes []uint32
}

// UndeclaredFeature is a feature that the pod requires, and the nodes that do not declare it.
type UndeclaredFeature struct {
	Feature string
	Nodes   []uint32
}

// ResourceShortage is an insufficient resource of a node.
type ResourceShortage struct {
	Node                         uint32
	Resource                     string
	Requested, Used, Allocatable int64
}

// HostPortConflict is an occupied host port.
type HostPortConflict struct {
	Node   uint32
	Port   int32
	Holder PodReference
}

// ClaimConflict is the nodes on which a claim of the pod cannot be used for a reason.
type ClaimConflict struct {
	Namespace, Name string // empty for the claim of a pod without a name
	Class           string
	Volume          string // that it is bound to, empty for none
	SelectedNode    string // that its volume is provisioned for, empty for none
	Reason          ReasonType
	Nodes           []uint32
}

// AttachShortage is a node to which a CSI driver cannot attach the volumes of the pod.
type AttachShortage struct {
	Node   uint32
	Driver string
	// Attached is the number of volumes on the node, Adds the number of others that the pod has.
	Attached, Adds, Limit int64
}
