package change

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// combine returns combinations of two changes that give a pod a feasible node which no single one gives it. One of the two changes
// the pod or a node that is there. The other one is looked for with the first one made, as if it were a single one. Only if there
// is none, it is a node to add. Victims are never combined.
func combine(ctx context.Context, d *decide.Decision, candidates nodeset.Set) ([]Found, error) {
	firsts, err := firsts(ctx, d, candidates)
	if err != nil {
		return nil, err
	}
	out, err := pairs(ctx, d, candidates, firsts, (*search).finders)
	if len(out) == 0 && err == nil {
		out, err = pairs(ctx, d, candidates, firsts[:min(len(firsts), maxCombined)], func(s *search) []func() error {
			return []func() error{s.addNode}
		})
	}
	sortByRank(out)
	return out[:min(len(out), maxCombined)], err
}

// pairs combines each of some changes with the likeliest one that searches find behind it, once for each pair of ranks.
func pairs(
	ctx context.Context, d *decide.Decision, candidates nodeset.Set, firsts []Found, finders func(*search) []func() error,
) ([]Found, error) {
	var out []Found
	for i := range firsts {
		second, err := afterFirst(ctx, d, candidates, &firsts[i], finders)
		if err != nil {
			return nil, err
		}
		if second == nil {
			continue
		}
		pair := []verdict.Change{firsts[i].Change, behind(&firsts[i].Change, second.Change)}
		nodes := pair[1].Nodes
		pair[0].Nodes, pair[1].Nodes = nil, nil
		slices.SortStableFunc(pair, func(a, b verdict.Change) int { return cmp.Compare(rank(&a), rank(&b)) })
		alike := func(f Found) bool {
			return rank(&f.Combined[0]) == rank(&pair[0]) && rank(&f.Combined[1]) == rank(&pair[1])
		}
		if !slices.ContainsFunc(out, alike) {
			out = append(out, Found{Change: verdict.Change{Combined: pair, Nodes: nodes}})
		}
	}
	return out, ctx.Err()
}

// firsts returns changes that may need another one, the likeliest first. A pod with scheduling gates needs to lose them.
func firsts(ctx context.Context, d *decide.Decision, candidates nodeset.Set) ([]Found, error) {
	s, err := newSearch(ctx, d, candidates)
	if err != nil {
		return nil, err
	}
	s.unverified = true
	if d.Gated() != nil {
		err = s.ungate()
		return s.found, err
	}
	found, err := s.all([]func() error{
		s.uncordon, s.tolerate, s.changeRequirements, s.renameTopologyKeys, s.honorPolicies, s.preferRules,
	})
	return someOfEachRank(found), err
}

// someOfEachRank returns the first changes of each rank, so that many of one rank leave room for others. They are sorted by rank.
func someOfEachRank(found []Found) []Found {
	var out []Found
	last, left := 0, 0
	for i := range found {
		if r := rank(&found[i].Change); r != last {
			last, left = r, maxFirstsOfRank
		}
		if left--; left >= 0 {
			out = append(out, found[i])
		}
	}
	return out[:min(len(out), maxFirsts)]
}

// behind returns a change that was found after another one, with its indexes converted to the pod's original spec: if the first
// change removes an entry of a list, later entries move up.
func behind(first *verdict.Change, second verdict.Change) verdict.Change {
	shift := func(r verdict.PodRule) verdict.PodRule {
		gone := first.PreferredRule // a spread constraint stays in its list
		if gone != nil && gone.Plugin == verdict.InterPodAffinity && r.Plugin == gone.Plugin && r.Rule == gone.Rule &&
			r.Index >= gone.Index {
			r.Index++
		}
		return r
	}
	switch {
	case second.NodeRequirement != nil:
		gone, r := first.NodeRequirement, *second.NodeRequirement
		if gone != nil && gone.To == nil && r.Term >= 0 && r.Term == gone.Term && r.Expression >= gone.Expression {
			r.Expression++
		}
		second.NodeRequirement = &r
	case second.PreferredRule != nil:
		r := shift(*second.PreferredRule)
		second.PreferredRule = &r
	case second.TopologyKey != nil:
		k := *second.TopologyKey
		k.Rule = shift(k.Rule)
		second.TopologyKey = &k
	case second.MatchLabelKey != nil:
		k := *second.MatchLabelKey
		k.Rule = shift(k.Rule)
		second.MatchLabelKey = &k
	case second.Namespaces != nil:
		t := *second.Namespaces
		t.Rule = shift(t.Rule)
		second.Namespaces = &t
	}
	return second
}

// afterFirst returns the likeliest change that gives the pod a feasible node once another change is made; nil for none.
func afterFirst(
	ctx context.Context, d *decide.Decision, candidates nodeset.Set, first *Found, finders func(*search) []func() error,
) (*Found, error) {
	state, pod := d.State, d.Pod
	if first.Spec != nil {
		pod = compile(d, first.Spec)
	}
	if first.Alteration != nil {
		var err error
		if state, err = state.Altered(ctx, first.Alteration); err != nil {
			return nil, err
		}
	}
	s, err := newSearch(ctx, decide.New(d.Framework, state, pod), candidates)
	if err != nil || s.Gated() != nil {
		return nil, err
	}
	found, err := s.all(finders(s))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}
