package verdict

// Rejection is nodes that one plugin rejects for the same reasons.
type Rejection struct {
	Plugin  Plugin
	Code    Code
	Reasons []Reason
	Nodes   []uint32
}

// Code is the status code with which a plugin rejects a node, or a pod as a whole.
type Code uint8

// The codes, as in k8s.io/kube-scheduler/framework, v0.37.
const (
	// Unschedulable: evicting pods may help.
	Unschedulable Code = iota + 1
	// UnschedulableAndUnresolvable: evicting pods cannot help.
	UnschedulableAndUnresolvable
	// Error: the plugin fails, and with it the scheduling cycle of the pod.
	Error
)

// Filter is the result of filtering: the feasible nodes, and the reasons for the others.
type Filter struct {
	Feasible []uint32
	// Rejections are in the order of the plugins, then of their first node. Every candidate that is not feasible is in
	// exactly one; there are none if the pod goes to the node that it is nominated to.
	Rejections []Rejection
	// Message is kube-scheduler's event text for a pod that has no feasible nodes or cannot be scored. It ends with the message of
	// Preemption.
	Message string
	// Failed reports that kube-scheduler's cycle of the pod ends with an internal error, whose text is Message.
	Failed bool
	// Explanation is nil unless requested.
	Explanation *Explanation
	// Changes are changes that make a node feasible, if requested and no node is: each sufficient alone and minimal, in
	// the order of Change's kinds. A kind may be missing because the budget of its search was spent.
	Changes []Change
	// Preemption is nil unless requested, and where kube-scheduler does not run preemption.
	Preemption *Preemption
	Doubts     []Doubt
}

// PluginScores is the weighted scores of one plugin.
type PluginScores struct {
	Plugin Plugin
	Weight int64
	// Scores are normalized to 0..100 and multiplied by Weight, one per node of Score.Nodes.
	Scores []int64
}

// Score is the result of scoring the feasible nodes.
type Score struct {
	Nodes []uint32
	// Plugins holds the plugins that did not skip the pod, in the order in which they run.
	Plugins []PluginScores
	Totals  []int64
	Best    []uint32
	// Message is kube-scheduler's event text for a pod without feasible nodes, or with a failure to score it. Such a
	// pod has neither Totals nor Best.
	Message string
	// Failed is as in Filter.
	Failed bool
	// Rejections are as in Filter, if requested.
	Rejections []Rejection
	Doubts     []Doubt
}
