// Package plugin is what kube-scheduler's plugins have in common. Each has a package of its own below this one, which
// exports one value: its Plugin. Package registry lists them.
//
// A plugin that filters compiles a pod into rules, against the state of a request. Whatever decides about the pod reads
// these rules.
package plugin

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// MaxScore is the highest normalized score (k8s.io/kube-scheduler/framework MaxNodeScore, v0.37).
const MaxScore = 100

// Plugin is one of kube-scheduler's plugins. A function that is nil is an extension point that the plugin does not have.
type Plugin struct {
	Name verdict.Plugin
	// PreEnqueue returns why a pod is kept out of the queue, and whether it is.
	PreEnqueue func(*api.PodSpec) (verdict.Reason, bool)
	// PreFilter rejects the pod as a whole, or restricts the nodes to consider.
	PreFilter func(*api.PodSpec) PreFilterResult
	// Compile adds what the plugin requires of a node to a set of rules. It reads the state, which must not change until
	// the rules have counted.
	Compile func(*Cycle, *rule.Set)
	// Alike reports whether Compile and PreFilter do the same for two pods, whatever pods there are. It is there if all
	// rules are static.
	Alike func(a, b *api.PodSpec) bool
	// Labels are the keys of pod labels that the rules read otherwise than by a selector of a pod.
	Labels []string
	// Explain adds details to an explanation. It stops when no more may be explained.
	Explain func(*Cycle, *Explaining)

	// PreScoreError returns the text of the error with which PreScore fails, empty if it does not.
	PreScoreError func(*api.PodSpec) string
	// Score returns the normalized scores of feasible nodes; nil if the plugin skips the pod.
	Score  func(c *Cycle, feasible []uint32) []int64
	Weight func(*api.Weights) int64
	// Unbounded says that Score may return what is not in 0..MaxScore, where kube-scheduler's integers overflow.
	Unbounded bool
	// OwnRules says that Score follows from rules of the pod, and not from how full nodes are.
	OwnRules bool
}

// PreFilterResult is what a plugin finds before nodes are filtered.
type PreFilterResult struct {
	// Code is 0 unless the pod is rejected, for Reason.
	Code   verdict.Code
	Reason verdict.Reason
	// Restricted says that only the nodes with the given names are considered.
	Restricted bool
	Names      []string
}

// Cycle is the decision about one pod.
type Cycle struct {
	State   *cluster.State
	Pod     *cluster.Pending
	Profile *api.Profile
	// Required is the nodes that match the pod's node selector and required node affinity; nil if all do.
	Required nodeset.Set
	// Tolerated is the nodes without NoSchedule and NoExecute taints that the pod does not tolerate; nil if all are.
	Tolerated nodeset.Set

	scores []int64
}

// Scores returns n scores of 0. Unless they are kept, the next call returns the same ones.
func (c *Cycle) Scores(n int) []int64 {
	if cap(c.scores) < n {
		c.scores = make([]int64, n)
		return c.scores
	}
	c.scores = c.scores[:n]
	clear(c.scores)
	return c.scores
}

// KeepScores makes the scores that Scores returned last the caller's.
func (c *Cycle) KeepScores() { c.scores = nil }

// Without returns the nodes that are not in a set; nil is all nodes, in both directions.
func (c *Cycle) Without(nodes nodeset.Set) nodeset.Set {
	if nodes == nil {
		return nil
	}
	return nodeset.Full(c.State.Len()).Minus(nodes)
}

// Explaining is an explanation in the making.
type Explaining struct {
	*verdict.Explanation
	Candidates nodeset.Set
	Rules      *rule.Set // the plugin's
}

// Both returns the nodes that are in a and b, where nil stands for all nodes.
func Both(a, b nodeset.Set) nodeset.Set {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	both := a.Clone()
	both.And(b)
	return both
}
