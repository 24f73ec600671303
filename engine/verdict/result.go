package verdict

// Rejection is a group of nodes that one plugin refused for the same reasons.
type Rejection struct {
	Plugin Plugin
	// Unresolvable is kube-scheduler's code UnschedulableAndUnresolvable: evicting pods cannot help. Otherwise the code
	// is Unschedulable.
	Unresolvable bool
	Reasons      []Reason
	Nodes        []uint32
}

// Filter is the answer to: which nodes can take the pod, and why not the others.
type Filter struct {
	Feasible []uint32
	// Rejections are in ascending order of plugin, then of their first node. Every candidate that is not feasible is in
	// exactly one.
	Rejections []Rejection
	// Message is kube-scheduler's event text if nothing is feasible.
	Message string
	// Explanation is nil unless asked for.
	Explanation *Explanation
	// Changes are what would let a node take the pod, if asked for and nothing is feasible: each alone, none of them more
	// than is needed, in the order of Change's kinds. A kind of which none was found may be missing because too many were
	// tried.
	Changes []Change
}

// PluginScores is one plugin's weighted scores.
type PluginScores struct {
	Plugin Plugin
	Weight int64
	// Scores are normalized to 0..100 and multiplied by Weight, one per node of Score.Nodes.
	Scores []int64
}

// Score is the answer to: how good is each node that can take the pod.
type Score struct {
	Nodes []uint32
	// Plugins holds the plugins that did not skip the pod, in ascending order.
	Plugins []PluginScores
	Totals  []int64
	Best    []uint32
	// Message is kube-scheduler's event text if nothing is feasible.
	Message string
	// Rejections are as in Filter, if asked for.
	Rejections []Rejection
}
