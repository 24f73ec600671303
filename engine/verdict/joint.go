package verdict

// JointStatus is the outcome of a joint placement.
type JointStatus uint8

// The outcomes.
const (
	// JointComplete: every pod has a node, and every required rule holds at the end.
	JointComplete JointStatus = iota + 1
	// JointBestEffort: the search ended before it decided whether there is such a placement. The placed pods are valid
	// together.
	JointBestEffort
	// JointInfeasible: there is provably none.
	JointInfeasible
)

// Joint is the result of placing a group as a whole.
type Joint struct {
	Status JointStatus
	// Nodes are the nodes of each entry's pods: all of them with JointComplete, none with JointInfeasible.
	Nodes [][]uint32
	// Scores are the pods' total scores with all others assumed, beside Nodes; Sum is their sum. Only with
	// JointComplete.
	Scores [][]int64
	Sum    int64
	// LocallyOptimal reports that the placement is locally optimal: no single-pod move raises Sum. It is false if the search
	// ended before that was known.
	LocallyOptimal bool
	// Conflict is rules that no placement of the group satisfies together, with JointInfeasible. It is empty without
	// candidates. Minimal reports that no rule of it can be left out; it is false if the search ended before that was
	// known.
	Conflict []PodRule
	Minimal  bool
	// Steps is the number of steps of the search.
	Steps int
}

// PodRule identifies a rule of a pod.
type PodRule struct {
	// Entry is the index of the first entry with the rule.
	Entry  int
	Plugin Plugin
	// Rule distinguishes the rules of PodTopologySpread and of InterPodAffinity; 0 for other plugins.
	Rule TopologyRule
	// Index is as in TopologyCounts, 0 if Rule is 0 or ExistingPodAntiAffinity.
	Index int
	// TopologyKey is empty if Rule is 0.
	TopologyKey string
	// Resource is the resource of a rule of NodeResourcesFit.
	Resource string
	// Error is the error of a plugin that cannot parse the pod.
	Error string
}
