package change

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// spreadRule returns the identity of a hard spread constraint.
func spreadRule(i int, k *api.TopologySpreadConstraint) verdict.PodRule {
	return verdict.PodRule{
		Plugin: verdict.PodTopologySpread, Rule: verdict.HardSpread, Index: i, TopologyKey: k.TopologyKey,
	}
}

// termRule returns the identity of a required term.
func termRule(kind verdict.TopologyRule, i int, t *api.PodAffinityTerm) verdict.PodRule {
	return verdict.PodRule{Plugin: verdict.InterPodAffinity, Rule: kind, Index: i, TopologyKey: t.TopologyKey}
}

// ownSpread returns a spread constraint of a spec, which may be changed.
func ownSpread(spec *api.PodSpec, i int) *api.TopologySpreadConstraint {
	spec.Spread = slices.Clone(spec.Spread)
	return &spec.Spread[i]
}

// ownTerm returns a required term of a pod's affinity or anti-affinity, which may be changed.
func ownTerm(of **api.PodAffinity, i int) *api.PodAffinityTerm {
	own := **of
	own.Required = slices.Clone(own.Required)
	*of = &own
	return &own.Required[i]
}

func requiredTerms(a *api.PodAffinity) []api.PodAffinityTerm {
	if a == nil {
		return nil
	}
	return a.Required
}

// honorPolicies tries each node inclusion policy of each hard constraint as Honor.
func (s *search) honorPolicies() error {
	return s.eachHardSpread(func(i int, k *api.TopologySpreadConstraint) error {
		try := func(policy verdict.UncountedReason, change func(*api.TopologySpreadConstraint)) error {
			return s.addSpec(verdict.Change{
				SpreadPolicy: &verdict.SpreadPolicy{Index: i, TopologyKey: k.TopologyKey, Honored: policy},
			}, func(spec *api.PodSpec) { change(ownSpread(spec, i)) })
		}
		if !k.HonorNodeTaints {
			err := try(verdict.NodeTaintsPolicy, func(k *api.TopologySpreadConstraint) { k.HonorNodeTaints = true })
			if err != nil {
				return err
			}
		}
		if k.IgnoreNodeAffinity {
			return try(verdict.NodeAffinityPolicy, func(k *api.TopologySpreadConstraint) { k.IgnoreNodeAffinity = false })
		}
		return nil
	})
}

// lowerMinDomains tries minDomains of each hard constraint as the number of domains that there are.
func (s *search) lowerMinDomains() error {
	return s.eachHardSpread(func(i int, k *api.TopologySpreadConstraint) error {
		at := slices.IndexFunc(s.rules.Spread, func(r *rule.Spread) bool { return r.ID.Index == i })
		if at < 0 || !s.rules.Spread[at].Floor() {
			return nil
		}
		domains := int32(0)
		for _, present := range s.rules.Spread[at].Present() {
			domains += int32(bit(present))
		}
		to := max(1, domains)
		return s.addSpec(verdict.Change{
			MinDomains: &verdict.LoweredMinDomains{Index: i, TopologyKey: k.TopologyKey, From: k.MinDomains, To: to},
		}, func(spec *api.PodSpec) { ownSpread(spec, i).MinDomains = to })
	})
}

// eachHardSpread passes the hard constraints of the pod if they alone reject a node.
func (s *search) eachHardSpread(pass func(int, *api.TopologySpreadConstraint) error) error {
	spec := s.Pod.Spec()
	if len(spec.Spread) == 0 || s.passingBut(podtopologyspread.Plugin).Empty() {
		return nil
	}
	for i := range spec.Spread {
		if k := &spec.Spread[i]; !k.ScheduleAnyway {
			if err := pass(i, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// revisionLabels are the labels that distinguish the pods of one revision of a workload from the pods of another.
var revisionLabels = []string{templateHashLabel, "controller-revision-hash"}

// matchRevision tries matchLabelKeys with the label of the pod's revision in each hard constraint and anti-affinity term: a rolling
// update then does not count the pods that it replaces.
func (s *search) matchRevision() error {
	for _, key := range revisionLabels {
		if _, has := s.Pod.Shape.Labels.Get(s.State.Symbols.Intern(key)); !has {
			continue
		}
		err := s.eachHardSpread(func(i int, k *api.TopologySpreadConstraint) error {
			if k.LabelSelector == nil || slices.Contains(k.MatchLabelKeys, key) || names(k.LabelSelector, key) {
				return nil
			}
			return s.addSpec(verdict.Change{MatchLabelKey: &verdict.MatchLabelKey{Rule: spreadRule(i, k), Key: key}},
				func(spec *api.PodSpec) {
					k := ownSpread(spec, i)
					k.MatchLabelKeys = append(slices.Clip(k.MatchLabelKeys), key)
				})
		})
		if err != nil {
			return err
		}
		if s.passingBut(interpodaffinity.Plugin).Empty() {
			continue
		}
		terms := requiredTerms(s.Pod.Spec().PodAntiAffinity)
		for i := range terms[:min(len(terms), maxTriedRules)] {
			t := &terms[i]
			if t.LabelSelector == nil || slices.Contains(t.MatchLabelKeys, key) || slices.Contains(t.MismatchLabelKeys, key) ||
				names(t.LabelSelector, key) {
				continue
			}
			err := s.addSpec(verdict.Change{
				MatchLabelKey: &verdict.MatchLabelKey{Rule: termRule(verdict.PodAntiAffinity, i, t), Key: key},
			}, func(spec *api.PodSpec) {
				t := ownTerm(&spec.PodAntiAffinity, i)
				t.MatchLabelKeys = append(slices.Clip(t.MatchLabelKeys), key)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// names reports whether a selector has a requirement on a key, which matchLabelKeys then must not have.
func names(s *api.LabelSelector, key string) bool {
	_, has := s.MatchLabels.Get(key)
	return has || slices.ContainsFunc(s.MatchExpressions, func(r api.Requirement) bool { return r.Key == key })
}

// addNamespaces looks for the first namespace whose pods an affinity term of the pod selects only because of their labels.
func (s *search) addNamespaces() error {
	if s.passingBut(interpodaffinity.Plugin).Empty() {
		return nil
	}
	terms := requiredTerms(s.Pod.Spec().PodAffinity)
	for i := range terms[:min(len(terms), len(s.Pod.Affinity), maxTriedRules)] {
		t, compiled := &terms[i], &s.Pod.Affinity[i]
		var others []string
		for _, g := range s.State.Groups() {
			if g.Len() > 0 && compiled.Selector.Matches(g.Labels) && !compiled.Matches(g.Namespace, nil, g.Labels) {
				others = append(others, s.State.Symbols.Name(g.Namespace))
			}
		}
		slices.Sort(others)
		others = slices.Compact(others)
		before := len(s.found)
		for _, other := range others[:min(len(others), maxTriedKeys)] {
			all := slices.Clone(t.Namespaces)
			if len(all) == 0 && t.NamespaceSelector == nil {
				all = []string{s.Pod.Template.Namespace}
			}
			all = append(all, other)
			err := s.addSpec(verdict.Change{
				Namespaces: &verdict.TermNamespaces{Rule: termRule(verdict.PodAffinity, i, t), Namespaces: all, Added: other},
			}, func(spec *api.PodSpec) { ownTerm(&spec.PodAffinity, i).Namespaces = all })
			if err != nil {
				return err
			}
			if s.suffices(before) {
				break
			}
		}
	}
	return nil
}
