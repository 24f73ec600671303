package engine

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/schedulinggates"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Bounds of what is decided to find changes.
const (
	// maxTriedNodes is how many nodes one more is tried to be like, for each set of keys that it has new values of;
	// maxTriedKeys how many such keys there are at most.
	maxTriedNodes = 32
	maxTriedKeys  = 16
	// maxTriedRules is how many of the pod's rules are tried to be preferred.
	maxTriedRules = 64
	// maxTriedRemovals is with how many sets of pods gone is decided.
	maxTriedRemovals = 64
	// maxPicks is how many sets of pods are looked at to find the smallest, maxPicksOfNode how many of one node; to look at
	// a node at all costs as much as picksOfOccupants.
	maxPicks         = 1 << 22
	maxPicksOfNode   = 1 << 13
	picksOfOccupants = 1 << 6
)

// changes returns what would let one of the candidates take the pod, of which none does: for each kind of change, and each
// thing that could change, the least that does. Nothing is answered that was not decided on.
func (d *decision) changes(ctx context.Context, candidates nodeset.Set) ([]verdict.Change, error) {
	if _, held := schedulinggates.Held(d.Pod.Spec()); held || candidates.Empty() {
		return nil, ctx.Err()
	}
	w := &wish{decision: d, ctx: ctx, candidates: candidates}
	err := d.eachFilter(ctx, func(name verdict.Plugin, f plugin.Filter) bool {
		refused := nodeset.New(d.State.Len())
		for _, r := range f.Refuse(candidates) {
			for _, n := range r.Nodes {
				refused.Add(n)
			}
		}
		w.refused[name] = refused
		return true
	})
	if err != nil {
		return nil, err
	}
	w.hard = podtopologyspread.HardConstraints(d.Cycle)
	for _, find := range []func() error{w.addNode, w.removePods, w.raiseMaxSkew, w.preferRules, w.lowerRequests} {
		if err := find(); err != nil {
			return nil, err
		}
	}
	return w.found, ctx.Err()
}

// wish is a pod that no candidate takes while changes are looked for.
type wish struct {
	*decision
	ctx        context.Context
	candidates nodeset.Set
	// refused is the candidates that each plugin refuses, asked on its own; nil for those that refuse none.
	refused [verdict.PluginCount]nodeset.Set
	hard    []podtopologyspread.Constraint
	found   []verdict.Change
}

// butFor returns the candidates that no plugin refuses but some.
func (w *wish) butFor(plugins ...verdict.Plugin) nodeset.Set {
	rest := w.candidates.Clone()
	for name, refused := range w.refused {
		if refused != nil && !slices.Contains(plugins, verdict.Plugin(name)) {
			rest.AndNot(refused)
		}
	}
	return rest
}

// taking returns the first of some nodes that takes a pod in a state, none if there is none.
func (w *wish) taking(s *cluster.State, pod *cluster.Pending, nodes nodeset.Set) ([]uint32, error) {
	outcome, err := decide(s, pod, w.Profile).filter(w.ctx, nodes)
	if err != nil {
		return nil, err
	}
	if outcome.feasible.Len() > 1 && preScoreFailure(pod.Spec()) != nil {
		return nil, nil
	}
	for n := range outcome.feasible.All() {
		return []uint32{n}, nil
	}
	return nil, nil
}

// differently returns the first candidate that takes the pod with another spec, none if there is none.
func (w *wish) differently(change func(*api.PodSpec)) ([]uint32, error) {
	pod, template := *w.Pod.Pod, *w.Pod.Template
	change(&template.Spec)
	pod.Template, pod.TemplateIndex = &template, -1
	return w.taking(w.State, w.State.Compile(&pod), w.candidates)
}

// keep keeps a change if a node takes the pod with it.
func (w *wish) keep(c verdict.Change, taking []uint32, err error) error {
	if err == nil && taking != nil {
		c.Nodes = taking
		w.found = append(w.found, c)
	}
	return err
}
