// Package interpodaffinity implements affinity and anti-affinity between pods, per topology domain: required terms
// filter, preferred ones score (pkg/scheduler/framework/plugins/interpodaffinity, v1.37).
//
// Terms are symmetric: a required anti-affinity term of an existing pod rejects the incoming pod in the whole domain,
// and preferred terms of existing pods count in the incoming pod's scores.
package interpodaffinity

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is InterPodAffinity.
var Plugin = &plugin.Plugin{
	Name:      verdict.InterPodAffinity,
	PreFilter: preFilter,
	Compile:   compile,
	Waits:     waits,

	WithNominated: withNominated,

	Explain:       explain,
	PreScoreError: preScoreError,
	Score:         Score,
	Weight:        func(w *api.Weights) *int64 { return &w.InterPodAffinity },

	OwnRules: true,
}

func preFilter(c *plugin.Cycle) plugin.PreFilterResult {
	spec := c.Pod.Spec()
	if err := parseError(spec); err != "" {
		return plugin.PreFilterResult{
			Code: verdict.UnschedulableAndUnresolvable, Reason: verdict.UnparsablePod("parsing pod: " + err),
		}
	}
	return plugin.PreFilterResult{}
}

func compile(c *plugin.Cycle, s *rule.Set) {
	if len(c.Pod.Affinity) > 0 {
		s.Affinity = compileAffinity(c)
	}
	for i := range c.Pod.AntiAffinity {
		t := &c.Pod.AntiAffinity[i]
		s.Exclusions = append(s.Exclusions, rule.NewTermExclusion(c.State, t, rule.Exclusion{
			ID:       id(c, verdict.PodAntiAffinity, i, t.TopologyKey),
			Reason:   verdict.ReasonOf(verdict.ReasonPodAntiAffinity),
			Excludes: func(other *cluster.Pending) bool { return excludes(c.Pod, i, other) },
		}))
	}
	s.Exclusions = append(s.Exclusions, compileExisting(c)...)
}

func id(c *plugin.Cycle, kind verdict.TopologyRule, index int, key intern.ID) verdict.PodRule {
	return verdict.PodRule{
		Plugin: verdict.InterPodAffinity, Rule: kind, Index: index, TopologyKey: c.State.Symbols.Name(key),
	}
}

func compileAffinity(c *plugin.Cycle) *rule.Affinity {
	terms := c.Pod.Affinity
	a := &rule.Affinity{
		Self: matchesAll(terms, c.Pod.Shape),
		Pods: rule.Matching(c.State.Selectable(terms[0].Selector), func(g *cluster.Group) bool { return matchesAll(terms, g.Shape) }),
	}
	for i := range terms {
		key := terms[i].TopologyKey
		a.Terms = append(a.Terms, rule.Term{ID: id(c, verdict.PodAffinity, i, key), Column: c.State.Column(key)})
	}
	return a
}

func matchesAll(terms []cluster.Term, s *cluster.Shape) bool {
	for i := range terms {
		if !terms[i].Matches(s.Namespace, nil, s.Labels) {
			return false
		}
	}
	return true
}

// excludes reports whether an anti-affinity term of a pod keeps another pending pod out of its domain. It evaluates
// both directions, because they differ for namespaces that the cluster does not have.
func excludes(p *cluster.Pending, term int, other *cluster.Pending) bool {
	return p.AntiAffinity[term].Matches(other.Namespace, nil, other.Shape.Labels) ||
		p.Shape.AntiAffinity[term].Matches(other.Namespace, other.NamespaceLabels, other.Shape.Labels)
}

// compileExisting compiles the required anti-affinity terms of existing pods that select the pod: one rule per topology
// key, in the order of the keys' names. A pod with two such terms of one key counts twice.
func compileExisting(c *plugin.Cycle) []*rule.Exclusion {
	var keys []intern.ID
	groups := make(map[intern.ID][]int)
	for t := range c.State.AntiAffinity(c.Pod) {
		of, known := groups[t.TopologyKey]
		if !known {
			keys = append(keys, t.TopologyKey)
		}
		if !slices.Contains(of, int(t.Group)) {
			groups[t.TopologyKey] = append(of, int(t.Group))
		}
	}
	slices.SortFunc(keys, func(a, b intern.ID) int {
		return strings.Compare(c.State.Symbols.Name(a), c.State.Symbols.Name(b))
	})
	var rules []*rule.Exclusion
	for _, key := range keys {
		rules = append(rules, ofExisting(c, key, groups[key]))
	}
	return rules
}

// ofExisting returns the rule of existing pods' terms with a topology key. groups are the groups of these pods.
func ofExisting(c *plugin.Cycle, key intern.ID, groups []int) *rule.Exclusion {
	return rule.NewExclusion(c.State, rule.Exclusion{
		ID:     id(c, verdict.ExistingPodAntiAffinity, 0, key),
		Reason: verdict.ReasonOf(verdict.ReasonExistingPodAntiAffinity),
		Column: c.State.Column(key),
		Pods: rule.Pods{
			Weight: func(g *cluster.Group) int64 { return existing(c, g, key) },
			Groups: func(yield func(int, *cluster.Group) bool) {
				for _, i := range groups {
					if !yield(i, c.State.Group(i)) {
						return
					}
				}
			},
		},
	})
}

// withNominated adds the rules of the nominated pods' terms, with the keys that no existing pod's term has. Where PreFilter
// skips the plugin, it counts no nominated pod: the pod has no required terms, and no domain has an existing pod whose
// anti-affinity selects it (filtering.go PreFilter; pkg/scheduler/framework/runtime/framework.go
// RunPreFilterExtensionAddPod, v1.37).
func withNominated(c *plugin.Cycle, compiled *rule.Set, pods []cluster.Nominated) *rule.Set {
	var keys []intern.ID
	for i := range pods {
		for j := range pods[i].AntiAffinity {
			t := &pods[i].AntiAffinity[j]
			if !slices.Contains(keys, t.TopologyKey) && selects(t, c) {
				keys = append(keys, t.TopologyKey)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var known []string // keys of existing pods' terms
	occupied := false
	ofExistingPods := func(e *rule.Exclusion) bool { return e.ID.Rule == verdict.ExistingPodAntiAffinity }
	for _, e := range compiled.Exclusions {
		if ofExistingPods(e) {
			known, occupied = append(known, e.ID.TopologyKey), occupied || e.Occupied()
		}
	}
	with := *compiled
	with.Exclusions = slices.Clone(with.Exclusions)
	if len(c.Pod.Affinity)+len(c.Pod.AntiAffinity) == 0 && !occupied {
		with.Exclusions = slices.DeleteFunc(with.Exclusions, ofExistingPods)
		return &with
	}
	for _, key := range keys {
		if !slices.Contains(known, c.State.Symbols.Name(key)) {
			with.Exclusions = append(with.Exclusions, ofExisting(c, key, nil))
		}
	}
	return &with
}

// existing returns the number of required anti-affinity terms with a key that select the pod, per pod of a group.
func existing(c *plugin.Cycle, g *cluster.Group, key intern.ID) (terms int64) {
	for i := range g.AntiAffinity {
		if t := &g.AntiAffinity[i]; t.TopologyKey == key && selects(t, c) {
			terms++
		}
	}
	return terms
}

// selects reports whether a term of an existing pod selects the pod.
func selects(t *cluster.Term, c *plugin.Cycle) bool {
	return t.Matches(c.Pod.Namespace, c.Pod.NamespaceLabels, c.Pod.Shape.Labels)
}
