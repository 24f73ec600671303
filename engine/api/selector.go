package api

// Operator is the operator of a requirement on a label or field.
type Operator uint8

// The operators. GreaterThan and LessThan occur in node selectors only.
const (
	In Operator = iota + 1
	NotIn
	Exists
	DoesNotExist
	GreaterThan
	LessThan
)

// Requirement is a condition on one label or field.
type Requirement struct {
	Key      string
	Operator Operator
	Values   []string
}

// LabelSelector selects objects with all of MatchLabels that meet all of MatchExpressions. A nil selector selects
// nothing, an empty one everything.
type LabelSelector struct {
	MatchLabels      Labels
	MatchExpressions []Requirement
}

// NodeSelector selects nodes that match any of its terms.
type NodeSelector struct {
	Terms []NodeSelectorTerm
}

// NodeSelectorTerm matches nodes that meet all its requirements; without requirements it matches none.
// Invariant: MatchFields are on "metadata.name", In or NotIn with exactly one value.
type NodeSelectorTerm struct {
	MatchExpressions []Requirement
	MatchFields      []Requirement
}

// PreferredNodeTerm is a weighted preferred node affinity term.
type PreferredNodeTerm struct {
	Weight     int32
	Preference NodeSelectorTerm
}

// NodeAffinity is a pod's node affinity. A Required without terms matches no node.
type NodeAffinity struct {
	Required  *NodeSelector
	Preferred []PreferredNodeTerm
}

// PodAffinityTerm selects pods, and thereby the topology domains that contain them.
type PodAffinityTerm struct {
	LabelSelector     *LabelSelector
	Namespaces        []string
	NamespaceSelector *LabelSelector
	TopologyKey       string
	// MatchLabelKeys and MismatchLabelKeys are merged into LabelSelector as the API server does.
	MatchLabelKeys    []string
	MismatchLabelKeys []string
}

// WeightedPodAffinityTerm is a weighted preferred term.
type WeightedPodAffinityTerm struct {
	Weight int32
	Term   PodAffinityTerm
}

// PodAffinity is a pod's affinity or anti-affinity to other pods.
type PodAffinity struct {
	Required  []PodAffinityTerm
	Preferred []WeightedPodAffinityTerm
}

// TaintEffect is the effect of a taint on pods that do not tolerate it.
type TaintEffect uint8

// The effects. EveryEffect occurs in tolerations only.
const (
	EveryEffect TaintEffect = iota
	NoSchedule
	PreferNoSchedule
	NoExecute
)

// Taint is a node's taint.
type Taint struct {
	Key, Value string
	Effect     TaintEffect
}

// TolerationOperator is the comparison of a toleration's value with a taint's.
type TolerationOperator uint8

// The operators.
const (
	TolerationEqual TolerationOperator = iota
	TolerationExists
	TolerationLessThan
	TolerationGreaterThan
)

// Toleration tolerates matching taints.
type Toleration struct {
	Key      string
	Operator TolerationOperator
	Value    string
	Effect   TaintEffect
}

// TopologySpreadConstraint limits the skew of matching pods over topology domains. Invariants: MaxSkew and MinDomains
// are at least 1.
type TopologySpreadConstraint struct {
	MaxSkew        int32
	TopologyKey    string
	ScheduleAnyway bool // false: DoNotSchedule
	LabelSelector  *LabelSelector
	MinDomains     int32
	// IgnoreNodeAffinity is nodeAffinityPolicy: Ignore; the default is Honor.
	IgnoreNodeAffinity bool
	// HonorNodeTaints is nodeTaintsPolicy: Honor; the default is Ignore.
	HonorNodeTaints bool
	MatchLabelKeys  []string
}
