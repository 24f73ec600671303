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
	// maxTriedTaints bounds the lists of taints, maxTriedLabels the nodes that get a label, maxTriedValues the values of a label.
	maxTriedTaints = 16
	maxTriedLabels = 16
	maxTriedValues = 8
	// maxFirsts bounds the changes that are combined with another one, and maxFirstsOfRank the changes of one rank among them.
	// maxCombined bounds the combinations that are offered, and the changes that are combined with an added node.
	maxFirsts       = 12
	maxFirstsOfRank = 3
	maxCombined     = 3
	// maxPicks bounds the victim sets under consideration, maxPicksOfNode the victim sets of one node. Each node costs at least
	// picksOfOccupants.
	maxPicks         = 1 << 22
	maxPicksOfNode   = 1 << 13
	picksOfOccupants = 1 << 6
)

// Found is a change, and how to apply it: one of the fields below it is set.
type Found struct {
	verdict.Change
	// Copy is the node of AddedNode, and Tied are pods like the pods tied to it (DaemonSets, mirror pods).
	Copy *cluster.Copy
	Tied []cluster.Occupant
	// Victims are the RemovedPods, which are on From.
	From    uint32
	Victims []cluster.Occupant
	// Spec changes the pod's spec.
	Spec func(*api.PodSpec)
	// Alteration changes a node.
	Alteration *cluster.Alteration
}

// Find returns changes that give a pod without feasible candidates a feasible one, the likeliest remedy first: the smallest change of
// each kind and subject, and combinations of two if no single one does. Each change is verified by filtering.
func Find(ctx context.Context, d *decide.Decision, candidates nodeset.Set) ([]verdict.Change, error) {
	found, err := find(ctx, d, candidates, false)
	if err == nil && len(found) == 0 && !candidates.Empty() {
		found, err = combine(ctx, d, candidates)
	}
	var changes []verdict.Change
	for i := range found {
		changes = append(changes, found[i].Change)
	}
	return changes, err
}

// FindBeside is Find, except that pods which the request assumed are no victims, and that nothing is combined.
func FindBeside(ctx context.Context, d *decide.Decision, candidates nodeset.Set) ([]Found, error) {
	return find(ctx, d, candidates, true)
}

func find(ctx context.Context, d *decide.Decision, candidates nodeset.Set, keepAssumed bool) ([]Found, error) {
	s, err := newSearch(ctx, d, candidates)
	if s == nil || err != nil {
		return nil, err
	}
	s.keepAssumed = keepAssumed
	if d.Gated() != nil {
		err = s.ungate()
		return s.found, err
	}
	return s.all(append(s.finders(), s.addNode, s.removePods))
}

// newSearch returns a search; nil without candidates.
func newSearch(ctx context.Context, d *decide.Decision, candidates nodeset.Set) (*search, error) {
	if candidates.Empty() {
		return nil, ctx.Err()
	}
	s := &search{
		Decision: d, ctx: ctx, candidates: candidates, rules: d.Rules(),
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
	return s, nil
}

// finders are the searches by kind, except for the expensive searches for added nodes and for victims.
func (s *search) finders() []func() error {
	return []func() error{
		s.honorPolicies, s.uncordon, s.clearTaints, s.tolerate, s.changeRequirements, s.renameTopologyKeys, s.labelNode, s.addNamespaces,
		s.matchRevision, s.lowerMinDomains, s.raiseMaxSkew, s.preferRules, s.lowerRequests,
	}
}

// all runs searches and returns what they found, sorted.
func (s *search) all(finders []func() error) ([]Found, error) {
	for _, find := range finders {
		if err := find(); err != nil {
			return nil, err
		}
	}
	sortByRank(s.found)
	return s.found, s.ctx.Err()
}

// ungate tries the pod without its scheduling gates.
func (s *search) ungate() error {
	return s.addSpec(verdict.Change{RemovedGates: s.Pod.Spec().SchedulingGates}, func(spec *api.PodSpec) { spec.SchedulingGates = nil })
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
	// keepAssumed is whether pods that the request assumed are no victims, and do not come to a further node.
	keepAssumed bool
	// unverified is whether changes of the pod and of nodes are added that may need another one, because the search is for changes
	// to combine. Nodes that one more plugin rejects pass then.
	unverified bool
	found      []Found
}

// passingBut returns the candidates that no plugin except the given ones rejects.
func (s *search) passingBut(plugins ...*plugin.Plugin) nodeset.Set {
	return s.passing(func(p *plugin.Plugin) bool { return !slices.Contains(plugins, p) })
}

// passing returns the candidates that no plugin of a kind rejects.
func (s *search) passing(of func(*plugin.Plugin) bool) nodeset.Set {
	once, twice := nodeset.New(s.State.Len()), nodeset.New(s.State.Len())
	for p, rejected := range s.rejected {
		if rejected == nil || !of(p) {
			continue
		}
		again := once.Clone()
		again.And(rejected)
		twice.Or(again)
		once.Or(rejected)
	}
	if s.unverified {
		return s.candidates.Minus(twice)
	}
	return s.candidates.Minus(once)
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

// with returns the feasible candidates for the pod with another spec, as if it were not nominated.
func (s *search) with(change func(*api.PodSpec)) (nodeset.Set, error) {
	outcome, err := decide.New(s.Framework, s.State, s.compile(change)).FilterAll(s.ctx, s.candidates)
	if err != nil {
		return nil, err
	}
	return outcome.Feasible, nil
}

// addSpec adds a change of the pod's spec if a candidate is feasible with it.
func (s *search) addSpec(c verdict.Change, change func(*api.PodSpec)) error {
	found := Found{Change: c, Spec: change}
	if s.unverified {
		return s.add(found, []uint32{}, nil)
	}
	node, err := s.firstFeasible(s.State, s.compile(change), s.candidates)
	return s.add(found, node, err)
}

// addAlteration adds a change of a node if a candidate is feasible with it.
func (s *search) addAlteration(c verdict.Change, a cluster.Alteration) error {
	found := Found{Change: c, Alteration: &a}
	if s.unverified {
		return s.add(found, []uint32{}, nil)
	}
	state, err := s.State.Altered(s.ctx, &a)
	if err != nil {
		return err
	}
	node, err := s.firstFeasible(state, s.Pod, s.candidates)
	return s.add(found, node, err)
}

// suffices reports whether a search that needs one change has found one since there were a number of them. A search for changes to
// combine needs all.
func (s *search) suffices(before int) bool { return len(s.found) > before && !s.unverified }

// compile compiles the pod with another spec.
func (s *search) compile(change func(*api.PodSpec)) *cluster.Pending {
	return compile(s.Decision, change)
}

func compile(d *decide.Decision, change func(*api.PodSpec)) *cluster.Pending {
	pod, template := *d.Pod.Pod, *d.Pod.Template
	change(&template.Spec)
	pod.Template, pod.TemplateIndex = &template, -1
	return d.State.Compile(&pod)
}

// add adds a change if a node is feasible with it.
func (s *search) add(c Found, node []uint32, err error) error {
	if err == nil && node != nil {
		c.Nodes = node
		s.found = append(s.found, c)
	}
	return err
}
