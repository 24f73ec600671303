package verdict

import "github.com/stowage-scheduler/stowage/engine/api"

// Change is a change that makes a node feasible for a pod without feasible nodes. Exactly one kind is set.
type Change struct {
	AddedNode      *AddedNode
	RemovedPods    []PodReference // of one node
	RaisedMaxSkew  *RaisedMaxSkew
	PreferredRule  *PodRule // a required rule to make a preferred one; Entry is 0
	LoweredRequest *LoweredRequest
	// Tolerations are added to the pod's.
	Tolerations []api.Toleration
	// UncordonedNode is schedulable again, without the taint of cordoned nodes.
	UncordonedNode  *uint32
	ClearedTaints   *ClearedTaints
	LabelledNode    *LabelledNode
	NodeRequirement *NodeRequirement
	TopologyKey     *RenamedTopologyKey
	SpreadPolicy    *SpreadPolicy
	MinDomains      *LoweredMinDomains
	MatchLabelKey   *MatchLabelKey
	Namespaces      *TermNamespaces
	// RemovedGates are all scheduling gates of the pod.
	RemovedGates []string
	// Combined are two changes of other kinds that are made together. Their Nodes are empty. Indexes refer to the pod's original spec,
	// even if the other change removes an entry of the same list.
	Combined []Change
	// Nodes is the feasible node with the lowest index after the change; empty with AddedNode, alone or combined.
	Nodes []uint32
}

// AddedNode is a copy of a node with a new name and without pods.
type AddedNode struct {
	Like uint32
	// NewDomainKeys are the topology keys under which it is in a new domain.
	NewDomainKeys []string
}

// RaisedMaxSkew is a new maxSkew of a spread constraint of the pod.
type RaisedMaxSkew struct {
	Index       int
	TopologyKey string
	From, To    int32
}

// LoweredRequest is a new request of the pod for a resource.
type LoweredRequest struct {
	Resource string
	From, To int64
}

// ClearedTaints are taints that a node has no longer.
type ClearedTaints struct {
	Node   uint32
	Taints []api.Taint
}

// LabelledNode is a node with an additional label.
type LabelledNode struct {
	Node  uint32
	Label api.Label
}

// NodeRequirement is a requirement of the pod on nodes' labels that is changed, or given up.
type NodeRequirement struct {
	// Term is the index of the required node affinity term, -1 for the node selector.
	Term int
	// Expression is the index in the term's match expressions; 0 for the node selector.
	Expression int
	// From is the requirement. A node selector entry is In with one value.
	From api.Requirement
	// To is the new requirement; nil if the requirement is removed.
	To *api.Requirement
	// Values are alternative values of To, the most similar to the present ones first. Each works alone, and To has the first one.
	// Empty if the key changes.
	Values []string
	// Matching is the number of candidates that meet From.
	Matching int
	// Unparsable reports that kube-scheduler cannot parse From.
	Unparsable bool
	// Contradicts reports that no candidate meets both From and another requirement on the same key, though some meet each.
	Contradicts bool
}

// RenamedTopologyKey is another topology key of a rule, which no candidate has.
type RenamedTopologyKey struct {
	Rule PodRule
	To   string
}

// SpreadPolicy is a node inclusion policy of a spread constraint that becomes Honor: NodeTaintsPolicy or NodeAffinityPolicy.
type SpreadPolicy struct {
	Index       int
	TopologyKey string
	Honored     UncountedReason
}

// LoweredMinDomains is a lower minDomains of a spread constraint.
type LoweredMinDomains struct {
	Index       int
	TopologyKey string
	From, To    int32
}

// MatchLabelKey is an additional entry of matchLabelKeys of a spread constraint or anti-affinity term.
type MatchLabelKey struct {
	Rule PodRule
	Key  string
}

// TermNamespaces is the complete list of namespaces of an affinity term, which has one more than before.
type TermNamespaces struct {
	Rule       PodRule
	Namespaces []string
	// Added is the one.
	Added string
}
