package oracle

import (
	fwk "k8s.io/kube-scheduler/framework"
)

// Decision is kube-scheduler's decision about one pod.
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
	// Unfiltered are the errors of filters, in ascending order of node. Feasible is empty then, and nodes that no plugin refuses have the
	// first error as their refusal.
	Unfiltered []*Refusal
	// Unscored is the error with which a plugin fails to score Feasible, if there are several; then no node is chosen.
	Unscored *Refusal
	// Message is the text of schedulePod's error: the FitError's if no node is feasible.
	Message string

	// Scores, Totals and Best are about Feasible. A plugin that skipped the pod has no scores. Nor has a plugin that would fail to
	// score a single feasible node, which kube-scheduler chooses without scoring it.
	Scores []Scores
	Totals []int64
	Best   []uint32
}

// Failed reports whether kube-scheduler fails with an error, and so decides nothing.
func (d *Decision) Failed() bool {
	return d != nil && (d.Unscored != nil || len(d.Unfiltered) > 0 || d.Whole != nil && d.Whole.Code == fwk.Error)
}

// Overflows reports whether kube-scheduler fails on a score that its integers are too small for.
func (d *Decision) Overflows() bool {
	return d.Unscored != nil && invalidScore(d.Unscored.Reasons[0])
}

// Refusal is a status that refuses.
type Refusal struct {
	Plugin string
	Code   fwk.Code
	// Reasons are the plugin's own texts, without what the framework says before an error.
	Reasons []string
}

// Verdict is the verdict of the filter plugins on one node.
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

// Check is the verdict of one filter plugin, called alone, on a node.
type Check struct {
	Node    uint32
	Refusal *Refusal
}
