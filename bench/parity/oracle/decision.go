package oracle

// Decision is what kube-scheduler says about one pod.
type Decision struct {
	// Gate is the refusal of a PreEnqueue plugin; the pod then never comes to be scheduled and nothing below is set.
	Gate *Refusal
	// Whole is the refusal of the pod as a whole at PreFilter. Its Plugin is empty where the plugins of Narrowed left no
	// node.
	Whole *Refusal
	// Narrowed are the plugins that narrowed the nodes before filtering, in alphabetical order.
	Narrowed []string
	// Verdicts are the candidates' in ascending order of node. If Whole is set, each node has that refusal.
	Verdicts []Verdict
	Feasible []uint32
	// Message is the FitError's text if no node is feasible.
	Message string

	// Scores, Totals and Best tell of Feasible; a plugin that skipped the pod has no scores.
	Scores []Scores
	Totals []int64
	Best   []uint32
}

// Refusal is a status that refuses.
type Refusal struct {
	Plugin       string
	Unresolvable bool
	Reasons      []string
}

// Verdict is what the filter plugins say of one node.
type Verdict struct {
	Node uint32
	// Refusal is nil if the node is feasible.
	Refusal *Refusal
	// NarrowedOut says that no filter was run, as a PreFilter plugin had left the node out.
	NarrowedOut bool
}

// Scores are a plugin's weighted scores of the feasible nodes.
type Scores struct {
	Plugin string
	Weight int64
	Scores []int64
}

// Check is what one filter plugin says of a node when it is asked alone.
type Check struct {
	Node    uint32
	Refusal *Refusal
}
