package cluster

import (
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// SelectedKeys returns the keys of the pod labels that the rules of existing, nominated and pending pods and the selectors for
// default spreading read, and for preemption PodDisruptionBudgets. Labels with other keys affect no placement.
func (s *State) SelectedKeys(pending []*Pending, preempt bool) map[string]bool {
	seen := make(map[*Rules]bool)
	ids := make(map[intern.ID]bool)
	add := func(selects *selector.Selector) {
		for key := range selects.Keys() {
			ids[key] = true
		}
	}
	addRules := func(r *Rules) {
		if seen[r] {
			return
		}
		seen[r] = true
		for _, terms := range [][]Term{r.Affinity, r.AntiAffinity} {
			for i := range terms {
				add(terms[i].Selector)
			}
		}
		for _, terms := range [][]WeightedTerm{r.PreferredAffinity, r.PreferredAntiAffinity} {
			for i := range terms {
				add(terms[i].Selector)
			}
		}
	}
	for _, g := range s.Groups() {
		addRules(g.Rules)
	}
	for _, n := range s.Nominated() {
		addRules(n.Rules)
	}
	for _, services := range s.workloads.services {
		for _, selects := range services {
			add(selects)
		}
	}
	for _, selects := range s.workloads.controllers {
		add(selects)
	}
	if preempt {
		for i := range s.budgets.list {
			add(s.budgets.list[i].selects)
		}
	}
	keys := make(map[string]bool)
	addKeys := func(list []string) {
		for _, key := range list {
			keys[key] = true
		}
	}
	for _, p := range pending {
		addRules(p.Rules)
		spec := p.Spec()
		for i := range spec.Spread {
			add(selector.CompileSelector(s.Symbols, spec.Spread[i].LabelSelector))
			addKeys(spec.Spread[i].MatchLabelKeys)
		}
		for t := range termsOf(spec) {
			addKeys(t.MatchLabelKeys)
			addKeys(t.MismatchLabelKeys)
		}
	}
	for id := range ids {
		keys[s.Symbols.Name(id)] = true
	}
	return keys
}
