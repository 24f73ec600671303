package nodeaffinity

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is NodeAffinity.
var Plugin = &plugin.Plugin{
	Name:          verdict.NodeAffinity,
	PreFilter:     preFilter,
	Compile:       compile,
	Static:        true,
	PreScoreError: preScoreError,
	Score:         Score,
	Weight:        func(w *api.Weights) *int64 { return &w.NodeAffinity },

	OwnRules: true,
}

// preFilter restricts the nodes to the nodes that the terms name, if every term names nodes.
func preFilter(c *plugin.Cycle) plugin.PreFilterResult {
	spec := c.Pod.Spec()
	if spec.NodeAffinity == nil {
		return plugin.PreFilterResult{}
	}
	names, restricted := selector.NamedNodes(spec.NodeAffinity.Required)
	if restricted && len(names) == 0 {
		return plugin.PreFilterResult{
			Code: verdict.UnschedulableAndUnresolvable, Reason: verdict.ReasonOf(verdict.ReasonNodeAffinityConflict),
		}
	}
	return plugin.PreFilterResult{Restricted: restricted, Names: names}
}

func compile(c *plugin.Cycle, s *rule.Set) {
	add := func(matching nodeset.Set, reason verdict.ReasonType) {
		if matching != nil {
			s.Static = append(s.Static, rule.Static{
				ID:       verdict.PodRule{Plugin: verdict.NodeAffinity},
				Code:     verdict.UnschedulableAndUnresolvable,
				Reason:   verdict.ReasonOf(reason),
				Rejected: c.Without(matching),
			})
		}
	}
	if a := c.Profile.AddedAffinity; a != nil && a.Required != nil {
		add(c.State.Selected(a.Required), verdict.ReasonAddedNodeAffinity)
	}
	add(c.Required, verdict.ReasonNodeAffinity)
}

func preScoreError(spec *api.PodSpec, _ *api.Profile) string {
	if spec.NodeAffinity == nil {
		return ""
	}
	return selector.PreferredNodeTermsError(spec.NodeAffinity.Preferred)
}
