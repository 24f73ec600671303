package verdict

// JointStatus is what placing a group as a whole came to.
type JointStatus uint8

// The outcomes.
const (
	// JointComplete: every pod has a node, and every required rule holds at the end.
	JointComplete JointStatus = iota + 1
	// JointBestEffort: the search ended before it knew whether there is such a placement. The pods that have nodes are
	// right among themselves.
	JointBestEffort
	// JointInfeasible: it is proven that there is none.
	JointInfeasible
)

// Joint is what became of a group that was placed as a whole.
type Joint struct {
	Status JointStatus
	// Nodes are the nodes of each entry's pods: all of them with JointComplete, none with JointInfeasible.
	Nodes [][]uint32
	// Scores are the pods' total scores as if each were the last to be placed, beside Nodes; Sum adds them up. Only with
	// JointComplete.
	Scores [][]int64
	Sum    int64
	// Settled says that no pod's move to the node that is best for it makes Sum higher. It is false if the search ended
	// before that was known.
	Settled bool
	// Conflict is rules that no placement of the group satisfies together, with JointInfeasible. With Minimal each of them
	// is needed for that; otherwise the search ended before that was known. It is empty if there is no candidate node.
	Conflict []JointRule
	Minimal  bool
	// Steps is how many steps the search took.
	Steps int
}

// JointRule is a rule of a group's pods.
type JointRule struct {
	// Entry is the index of the first entry whose pods have the rule.
	Entry  int
	Plugin Plugin
	// Rule tells apart what PodTopologySpread and InterPodAffinity look at; 0 with other plugins.
	Rule TopologyRule
	// Index is as in TopologyCounts, 0 if Rule is 0 or ExistingPodAntiAffinity.
	Index int
	// TopologyKey is empty if Rule is 0.
	TopologyKey string
	// Resource is that of a rule of NodeResourcesFit.
	Resource string
	// Error is the text of the plugin's error, where kube-scheduler cannot parse the pod.
	Error string
}
