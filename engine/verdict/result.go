package verdict

// Rejection is a group of nodes that one plugin refused for the same reasons.
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

// Filter is the answer to: which nodes can take the pod, and why not the others.
type Filter struct {
	Feasible []uint32
	// Rejections are in ascending order of plugin, then of their first node. Every candidate that is not feasible is in
	// exactly one.
	Rejections []Rejection
	// Message is kube-scheduler's event text if nothing is feasible, or if it fails to score the pod.
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
	// Message is kube-scheduler's event text if nothing is feasible, or if it fails to score the pod, which then has neither
	// Totals nor Best.
	Message string
	// Rejections are as in Filter, if asked for.
	Rejections []Rejection
}
