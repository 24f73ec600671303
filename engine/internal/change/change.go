// Package change finds the least changes of the pod or of the cluster that would let a node take a pod that none takes.
package change

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
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

// Find returns what would let one of the candidates take the pod, of which none does: for each kind of change, and each
// thing that could change, the least that does. Nothing is answered that was not decided on.
func Find(ctx context.Context, d *decide.Decision, candidates nodeset.Set) ([]verdict.Change, error) {
	if d.Gated() != nil || candidates.Empty() {
		return nil, ctx.Err()
	}
	w := &wish{Decision: d, ctx: ctx, candidates: candidates, rules: d.Rules(), refused: make(map[*plugin.Plugin]nodeset.Set)}
	err := d.EachFilter(ctx, func(p *plugin.Plugin, rules *rule.Set) bool {
		w.refused[p] = rules.Rejected(candidates)
		return true
	})
	if err != nil {
		return nil, err
	}
	w.rules.Count()
	for _, find := range []func() error{w.addNode, w.removePods, w.raiseMaxSkew, w.preferRules, w.lowerRequests} {
		if err := find(); err != nil {
			return nil, err
		}
	}
	return w.found, ctx.Err()
}

// wish is a pod that no candidate takes while changes are looked for.
type wish struct {
	*decide.Decision
	ctx        context.Context
	candidates nodeset.Set
	rules      *rule.Set
	// refused is the candidates that each plugin rejects on its own; nil for those that reject none.
	refused map[*plugin.Plugin]nodeset.Set
	found   []verdict.Change
}

// butFor returns the candidates that no plugin rejects but some.
func (w *wish) butFor(plugins ...*plugin.Plugin) nodeset.Set {
	return w.without(func(p *plugin.Plugin) bool { return !slices.Contains(plugins, p) })
}

// without returns the candidates that none of some plugins rejects.
func (w *wish) without(of func(*plugin.Plugin) bool) nodeset.Set {
	rest := w.candidates.Clone()
	for p, refused := range w.refused {
		if refused != nil && of(p) {
			rest.AndNot(refused)
		}
	}
	return rest
}

// static reports whether a plugin's rules do not depend on pods.
func static(p *plugin.Plugin) bool { return p.Alike != nil }

// taking returns the first of some nodes that takes a pod in a state, none if there is none.
func (w *wish) taking(s *cluster.State, pod *cluster.Pending, nodes nodeset.Set) ([]uint32, error) {
	outcome, err := decide.New(w.Framework, s, pod).Filter(w.ctx, nodes)
	if err != nil {
		return nil, err
	}
	if outcome.Feasible.Len() > 1 && w.PreScoreFailure(pod.Spec()) != nil {
		return nil, nil
	}
	for n := range outcome.Feasible.All() {
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
