package engine

import (
	"context"
	"runtime"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/consolidate"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// PricedNode is a node that Consolidate may remove.
type PricedNode = consolidate.Candidate

// ConsolidateOptions are the arguments of Consolidate.
type ConsolidateOptions struct {
	Profile *api.Profile
	// Candidates are the nodes that may be removed, ascending, each once. The sum of their prices is an int64.
	Candidates []PricedNode
	// Templates are the nodes that may be added. They have distinct names.
	Templates []NodeTemplate
	// MaxActions bounds the actions, and MaxNodes the nodes that one of them removes. Both are at least 1.
	MaxActions, MaxNodes int
	// Seed and FewestPods are as in PlaceOptions, Terminating as in DrainOptions.
	Seed                    uint64
	FewestPods, Terminating bool
	// Steps is the step budget of the search.
	Steps int
	// Partial returns the actions so far if the context's deadline comes.
	Partial bool

	workers int // replaces the number of cores unless 0
}

// ConsolidatedPods returns the number of pods on the candidates, which MaxDrainPods bounds.
func (c *Cluster) ConsolidatedPods(o *ConsolidateOptions) (pods int64) {
	for i := range o.Candidates {
		pods += c.compiled.PodsOn(o.Candidates[i].Node)
	}
	return pods
}

// consolidatedClusters is the number of clusters that Consolidate keeps at a time: the first one, the best one, the clusters of the
// sequence under trial, and one with a new node.
const consolidatedClusters = 12

// movedPodBytes is the memory of a pod in Drain.Moves, where each pod has its own entry in the worst case. keptPodBytes is the
// memory of a pod that keeps a candidate, with its message. Both share their names with the cluster.
const movedPodBytes, keptPodBytes = 128, 512

// ConsolidateBytes estimates the memory of Consolidate. Every pod that is moved takes a step of the search, and of all lists
// MaxListedPods are kept.
func (c *Cluster) ConsolidateBytes(o *ConsolidateOptions) int64 {
	added := newNodesBytes(o.Templates, min(o.MaxActions, len(o.Candidates)))
	pods := c.ConsolidatedPods(o)
	moved := min(saturating.Mul(pods, int64(min(o.MaxActions, len(o.Candidates)))), int64(o.Steps), verdict.MaxListedPods)
	return consolidatedClusters*c.compiled.CopiedByChange(0, true, true) + added +
		movedPodBytes*moved + keptPodBytes*min(pods, verdict.MaxListedPods)
}

// Consolidate finds actions after which the nodes of a cluster cost less, while all their pods have nodes: each adds one node or
// none, drains candidates as Drain does with DrainTogether, and removes them.
func (c *Cluster) Consolidate(ctx context.Context, o ConsolidateOptions) (*verdict.Consolidation, error) {
	p := &consolidate.Problem{
		Cluster: c.compiled, Framework: c.framework(o.Profile), Candidates: o.Candidates, Templates: o.Templates,
		Actions: o.MaxActions, Nodes: o.MaxNodes, Seed: o.Seed, FewestPods: o.FewestPods, Terminating: o.Terminating,
		Steps: o.Steps, Partial: o.Partial, Workers: o.workers,
	}
	if p.Workers == 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	out, err := consolidate.Find(ctx, p)
	if err != nil {
		return nil, err
	}
	out.Optimal = out.Optimal && !slices.ContainsFunc(out.Actions, func(a verdict.ConsolidateAction) bool { return len(a.Drain.Doubts) > 0 })
	return out, nil
}
