// Package plugin defines what kube-scheduler's plugins have in common. Each plugin is a package below this one and
// exports its Plugin. Package registry lists them.
//
// A filter plugin compiles a pod into rules, against the state of a request. Everything that decides about the pod
// reads these rules.
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

// Plugin is one of kube-scheduler's plugins. A nil function is an extension point that the plugin does not implement.
type Plugin struct {
	Name verdict.Plugin
	// PreEnqueue returns the reason that keeps a pod out of the queue, and whether there is one.
	PreEnqueue func(*api.PodSpec) (verdict.Reason, bool)
	// PreFilter rejects the pod as a whole, or restricts the nodes to consider.
	PreFilter func(*Cycle) PreFilterResult
	// Compile adds the plugin's rules to a set. The state must not change until the rules have counted.
	Compile func(*Cycle, *rule.Set)
	// WithNominated derives from the compiled rules the rules for one node when the pods nominated to the node count; nil if they are
	// the same. The result, and decisions by it, depend only on the nominated pods and on what the compiled rules reach
	// (rule.Set.Reaches).
	WithNominated func(*Cycle, *rule.Set, []cluster.Nominated) *rule.Set
	// Static is set if all rules are static, so that placing pods changes nothing about them.
	Static bool
	// Labels are the keys of pod labels that the rules read directly, without a selector.
	Labels []string
	// Waits returns whether an event may make a pod feasible that the plugin rejected. Without it every event may, unless the
	// plugin is static.
	Waits func(*Cycle) func(*Event) bool
	// Explain adds details to an explanation, within the request's budget.
	Explain func(*Cycle, *Explaining)

	// PreScoreError returns the error of PreScore, empty for none.
	PreScoreError func(*api.PodSpec, *api.Profile) string
	// Score returns the normalized scores of feasible nodes; nil if the plugin skips the pod.
	Score func(c *Cycle, feasible []uint32) []int64
	// Weight returns the field of the plugin's weight.
	Weight func(*api.Weights) *int64
	// Unbounded is set if kube-scheduler's integers can overflow, so that Score returns a value outside of 0..MaxScore.
	Unbounded bool
	// OwnRules is set if Score follows from rules of the pod, not from the utilization of nodes.
	OwnRules bool
}

// PreFilterResult is the result of a plugin's PreFilter.
type PreFilterResult struct {
	// Code is 0 unless the plugin rejects the pod, for Reason.
	Code   verdict.Code
	Reason verdict.Reason
	// Restricted is set if only the nodes with the given names are considered.
	Restricted bool
	Names      []string
}

// Cycle is the scheduling cycle of one pod.
type Cycle struct {
	State   *cluster.State
	Pod     *cluster.Pending
	Profile *api.Profile
	// Required are the nodes that match the pod's node selector and required node affinity; nil for all.
	Required nodeset.Set
	// Tolerated are the nodes without untolerated NoSchedule and NoExecute taints; nil for all.
	Tolerated nodeset.Set
}

// Scores returns n zero scores. The next call in the state reuses them unless KeepScores is called.
func (c *Cycle) Scores(n int) []int64 {
	if cap(c.State.Scores) < n {
		c.State.Scores = make([]int64, n)
		return c.State.Scores
	}
	c.State.Scores = c.State.Scores[:n]
	clear(c.State.Scores)
	return c.State.Scores
}

// KeepScores passes the scores of the last call of Scores to the caller.
func (c *Cycle) KeepScores() { c.State.Scores = nil }

// Without returns the nodes that are not in a set; nil stands for all nodes and then for none.
func (c *Cycle) Without(nodes nodeset.Set) nodeset.Set {
	if nodes == nil {
		return nil
	}
	return nodeset.Full(c.State.Len()).Minus(nodes)
}

// Explaining is an explanation that plugins add to.
type Explaining struct {
	*verdict.Explanation
	Candidates nodeset.Set
	Rules      *rule.Set // the plugin's
}

// Event is a pod that came to a node, or left it. A pod that is nominated no longer left the node that it was nominated to.
type Event struct {
	*cluster.Shape
	Left bool
}

// Awaited returns whether an event may make the pod feasible, which the plugin rejected; nil if none does.
func (p *Plugin) Awaited(c *Cycle) func(*Event) bool {
	switch {
	case p.Waits != nil:
		return p.Waits(c)
	case p.Static:
		return nil
	}
	return func(*Event) bool { return true }
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
