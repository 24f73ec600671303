// Package change finds minimal changes of a pod or of its cluster that give a pod without feasible nodes a feasible one.
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

const (
	// maxTriedNodes bounds the models of an additional node per set of new domains, maxTriedKeys the keys of new
	// domains.
	maxTriedNodes = 32
	maxTriedKeys  = 16
	// maxTriedRules bounds the required rules that are tried as preferred ones.
	maxTriedRules = 64
	// maxTriedRemovals bounds the victim sets that are verified.
	maxTriedRemovals = 64
	// maxPicks bounds the victim sets that are considered, maxPicksOfNode those of one node. Each node costs at least
	// picksOfOccupants.
	maxPicks         = 1 << 22
	maxPicksOfNode   = 1 << 13
	picksOfOccupants = 1 << 6
)

// Found is a change, and how to apply it: one of the fields below it is set.
type Found struct {
	verdict.Change
	// Node is the node of AddedNode.
	Node *api.Node
	// Victims are the RemovedPods, which are on From.
	From    uint32
	Victims []cluster.Occupant
	// Spec changes the pod's spec.
	Spec func(*api.PodSpec)
}

// Find returns changes that give a pod without feasible candidates a feasible one: the smallest change of each kind and
// subject. Each change is verified by filtering.
func Find(ctx context.Context, d *decide.Decision, candidates nodeset.Set) ([]verdict.Change, error) {
	found, err := find(ctx, d, candidates, false)
	var changes []verdict.Change
	for i := range found {
		changes = append(changes, found[i].Change)
	}
	return changes, err
}

// FindBeside is Find, except that pods which the request assumed are no victims.
func FindBeside(ctx context.Context, d *decide.Decision, candidates nodeset.Set) ([]Found, error) {
	return find(ctx, d, candidates, true)
}

func find(ctx context.Context, d *decide.Decision, candidates nodeset.Set, keepAssumed bool) ([]Found, error) {
	if d.Gated() != nil || candidates.Empty() {
		return nil, ctx.Err()
	}
	s := &search{
		Decision: d, ctx: ctx, candidates: candidates, rules: d.Rules(), keepAssumed: keepAssumed,
		rejected: make(map[*plugin.Plugin]nodeset.Set), nominated: d.NominatedOn(candidates),
	}
	err := d.EachFilter(ctx, func(p *plugin.Plugin, rules *rule.Set) bool {
		s.rejected[p] = d.Rejected(p, rules, candidates)
		return true
	})
	if err != nil {
		return nil, err
	}
	s.rules.Count()
	for _, find := range []func() error{s.addNode, s.removePods, s.raiseMaxSkew, s.preferRules, s.lowerRequests} {
		if err := find(); err != nil {
			return nil, err
		}
	}
	return s.found, ctx.Err()
}

// search looks for changes for a pod without feasible candidates.
type search struct {
	*decide.Decision
	ctx        context.Context
	candidates nodeset.Set
	rules      *rule.Set
	// rejected are the candidates that each plugin rejects on its own; nil for none.
	rejected map[*plugin.Plugin]nodeset.Set
	// nominated are the nominated pods of candidates that the pod must leave room for.
	nominated map[uint32][]cluster.Nominated
	// keepAssumed is whether pods that the request assumed are no victims.
	keepAssumed bool
	found       []Found
}

// passingBut returns the candidates that no plugin except the given ones rejects.
func (s *search) passingBut(plugins ...*plugin.Plugin) nodeset.Set {
	return s.passing(func(p *plugin.Plugin) bool { return !slices.Contains(plugins, p) })
}

// passing returns the candidates that no plugin of a kind rejects.
func (s *search) passing(of func(*plugin.Plugin) bool) nodeset.Set {
	rest := s.candidates.Clone()
	for p, rejected := range s.rejected {
		if rejected != nil && of(p) {
			rest.AndNot(rejected)
		}
	}
	return rest
}

// on returns the pod's requests as a node sees them, whose nominated pods count.
func (s *search) on(node uint32, needs []rule.Need) []rule.Need {
	if pods := s.nominated[node]; len(pods) > 0 && len(needs) > 0 {
		return s.rules.Fit.With(pods).Needs()
	}
	return needs
}

// firstFeasible returns the first of some nodes that is feasible for a pod in a state, none if there is none.
func (s *search) firstFeasible(state *cluster.State, pod *cluster.Pending, nodes nodeset.Set) ([]uint32, error) {
	outcome, err := decide.New(s.Framework, state, pod).Filter(s.ctx, nodes)
	if err != nil {
		return nil, err
	}
	if outcome.Feasible.Len() > 1 && s.PreScoreFailure(pod.Spec()) != nil {
		return nil, nil
	}
	for n := range outcome.Feasible.All() {
		return []uint32{n}, nil
	}
	return nil, nil
}

// addSpec adds a change of the pod's spec if a candidate is feasible with it.
func (s *search) addSpec(c verdict.Change, change func(*api.PodSpec)) error {
	node, err := s.firstFeasible(s.State, s.compile(change), s.candidates)
	return s.add(Found{Change: c, Spec: change}, node, err)
}

// compile compiles the pod with another spec.
func (s *search) compile(change func(*api.PodSpec)) *cluster.Pending {
	pod, template := *s.Pod.Pod, *s.Pod.Template
	change(&template.Spec)
	pod.Template, pod.TemplateIndex = &template, -1
	return s.State.Compile(&pod)
}

// add adds a change if a node is feasible with it.
func (s *search) add(c Found, node []uint32, err error) error {
	if err == nil && node != nil {
		c.Nodes = node
		s.found = append(s.found, c)
	}
	return err
}
