// Package nodedeclaredfeatures rejects nodes that do not declare a feature that the pod requires
// (pkg/scheduler/framework/plugins/nodedeclaredfeatures, v1.37).
package nodedeclaredfeatures

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is NodeDeclaredFeatures.
var Plugin = &plugin.Plugin{
	Name:    verdict.NodeDeclaredFeatures,
	Compile: compile,
	Static:  true,
	Explain: explain,
}

func compile(c *plugin.Cycle, s *rule.Set) {
	required := c.Pod.Spec().RequiredNodeFeatures
	if len(required) == 0 {
		return
	}
	rejected := lacking(c.State, required)
	if rejected.Empty() {
		return
	}
	s.Static = append(s.Static, rule.Static{
		ID:       verdict.PodRule{Plugin: verdict.NodeDeclaredFeatures},
		Code:     verdict.UnschedulableAndUnresolvable,
		Reason:   verdict.ReasonOf(verdict.ReasonDeclaredFeatures),
		Rejected: rejected,
	})
}

// lacking returns the nodes that do not declare one of the required features.
func lacking(s *cluster.State, required []string) nodeset.Set {
	lists := s.FeatureLists()
	table := make([]uint8, len(lists))
	for i, declared := range lists {
		if s.Ended() {
			break
		}
		if slices.ContainsFunc(required, func(name string) bool { return !slices.Contains(declared, name) }) {
			table[i] = 1
		}
	}
	return s.Declaring(table)
}
