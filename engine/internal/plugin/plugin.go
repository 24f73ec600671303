// Package plugin is what the rooms below it, one per kube-scheduler plugin, have in common.
//
// A plugin is prepared for one pod (its PreFilter or PreScore), and then asked about sets of nodes at a time. Preparing
// reads the request's State, which does not change until the pod is placed; asking changes nothing, so that sets of
// nodes may be asked about in parallel.
package plugin

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// MaxScore is the highest normalized score (k8s.io/kube-scheduler/framework MaxNodeScore, v0.37).
const MaxScore = 100

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

// Refusal is nodes that a plugin refuses, and why.
type Refusal struct {
	Unresolvable bool
	Reasons      []verdict.Reason
	Nodes        []uint32 // ascending

	set nodeset.Set // the nodes, if they came as a set
}

// Leave drops the nodes from a set.
func (r *Refusal) Leave(set nodeset.Set) {
	if r.set != nil {
		set.AndNot(r.set)
		return
	}
	for _, n := range r.Nodes {
		set.Remove(n)
	}
}

// Filter is a plugin prepared to filter.
type Filter interface {
	// Refuse returns the nodes of in that the plugin refuses, grouped by why. No node is in two groups.
	Refuse(in nodeset.Set) []Refusal
}

// Refused returns the one refusal of nodes for a reason with a fixed text, none if there are no nodes.
func Refused(nodes nodeset.Set, unresolvable bool, reason verdict.ReasonType) []Refusal {
	indexes := nodes.Indexes()
	if indexes == nil {
		return nil
	}
	reasons := []verdict.Reason{verdict.ReasonOf(reason)}
	return []Refusal{{Unresolvable: unresolvable, Reasons: reasons, Nodes: indexes, set: nodes}}
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
