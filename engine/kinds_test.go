package engine_test

import (
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// onlyKind is a plugin that compiles the rules of one kind of all plugins.
func onlyKind(kind string) *plugin.Plugin {
	only := &plugin.Plugin{Name: keepOut, Compile: func(c *plugin.Cycle, s *rule.Set) {
		var all rule.Set
		for _, p := range append(slices.Clone(registry.Plugins), enginetest.OneLicense) {
			if p.Compile != nil {
				p.Compile(c, &all)
			}
		}
		for name, rules := range enginetest.Kinds(&all) {
			if name == kind {
				*s = *rules
			}
		}
	}}
	only.Static = kind == "Static"
	return only
}

// TestEveryKindEverywhere leaves a pod the rules of one kind, which reject the only node, and asks everything that places
// pods. It fails for a kind that rule.Set has, and that one of these ignores.
func TestEveryKindEverywhere(t *testing.T) {
	profile := api.Kube137()
	for _, p := range registry.Plugins {
		profile.DisabledFilters.Add(uint8(p.Name))
	}
	full, pod := enginetest.RejectedByEveryKind()
	for kind := range enginetest.Kinds(&rule.Set{}) {
		t.Run(kind, func(t *testing.T) {
			c := compiled(t, full).WithPlugins(onlyKind(kind))
			f, err := c.Filter(t.Context(), &pod.Pod, engine.FilterOptions{Profile: profile})
			if err != nil || len(f.Feasible) > 0 {
				t.Errorf("Filter: feasible %v, error %v", f.Feasible, err)
			}
			for name, o := range map[string]engine.PlaceOptions{
				"by scanning":              {Scan: true},
				"board, domains by cell":   engine.PlaceOptions{}.WithBoard(),
				"board, domains by values": engine.PlaceOptions{}.WithBoard().WithLowCardinality(0),
				"in order":                 {Groups: []engine.PodGroup{{Name: "g", Entries: []int{0}}}},
				"jointly":                  {Groups: []engine.PodGroup{{Name: "g", Entries: []int{0}, Joint: true}}},
			} {
				o.Profile = profile
				p, err := c.Place(t.Context(), []engine.Pending{{Pod: pod.Pod, Count: 3}}, o)
				if err != nil || len(p.Placements[0].Nodes) > 0 {
					t.Errorf("Place %s: nodes %v, error %v", name, p.Placements[0].Nodes, err)
				}
			}
			d, err := c.ScaleDown(t.Context(), &pod.Pod, engine.ScaleDownOptions{Profile: profile})
			if err != nil || len(d.Deletions) == 0 || len(d.Deletions[0].Broken) == 0 {
				t.Errorf("ScaleDown: %+v, error %v", d, err)
			}
		})
	}
}
