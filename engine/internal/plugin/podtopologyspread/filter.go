package podtopologyspread

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is PodTopologySpread.
var Plugin = &plugin.Plugin{
	Name:          verdict.PodTopologySpread,
	PreFilter:     preFilter,
	Compile:       compileHard,
	Waits:         waits,
	Explain:       explain,
	PreScoreError: preScoreError,
	Score:         Score,
	Weight:        func(w *api.Weights) *int64 { return &w.PodTopologySpread },

	OwnRules: true,
}

func preFilter(c *plugin.Cycle) plugin.PreFilterResult {
	spec := c.Pod.Spec()
	if err := preFilterError(spec); err != "" {
		return plugin.PreFilterResult{Code: verdict.Error, Reason: verdict.UnparsablePod(err)}
	}
	return plugin.PreFilterResult{}
}

// waits returns a predicate for the pods whose arrival or departure may help: pods of the pod's namespace that a hard constraint
// selects (plugin.go isSchedulableAfterAssignedPodChange, v1.37).
func waits(c *plugin.Cycle) func(*plugin.Event) bool {
	hard := constraints(c, false)
	return func(e *plugin.Event) bool {
		return e.Namespace == c.Pod.Namespace &&
			slices.ContainsFunc(hard, func(k constraint) bool { return k.selector.Matches(e.Labels) })
	}
}

// compileHard compiles the hard constraints. A node counts if it has the keys of all of them and the inclusion policies
// include it.
func compileHard(c *plugin.Cycle, s *rule.Set) {
	hard := constraints(c, false)
	if len(hard) == 0 {
		return
	}
	eligible := withAllKeys(c.State.Len(), hard)
	rules := make([]*rule.Spread, len(hard))
	for i := range hard {
		rules[i] = hard[i].rule(c, eligible)
	}
	rule.CompileSpread(rules)
	s.Spread = append(s.Spread, rules...)
}

// rule returns the rule of a constraint. A pod that is added to a node or removed from it counts even while it terminates,
// and an empty selector then selects it (filtering.go updateWithPod, v1.37).
func (k *constraint) rule(c *plugin.Cycle, eligible nodeset.Set) *rule.Spread {
	return &rule.Spread{
		ID: verdict.PodRule{
			Plugin: verdict.PodTopologySpread, Rule: verdict.HardSpread, Index: k.index, TopologyKey: k.TopologyKey,
		},
		Column:     k.column,
		MaxSkew:    int64(k.MaxSkew),
		MinDomains: int(k.MinDomains),
		SelfMatch:  k.selector.Matches(c.Pod.Shape.Labels),
		Counted:    k.included(c, eligible),
		Key:        string(k.selector.AppendKey(nil)),
		Pods:       k.Pods(c),
		Adds:       func(s *cluster.Shape) bool { return s.Namespace == c.Pod.Namespace && k.selector.Matches(s.Labels) },
	}
}
