// Package nodeunschedulable rejects unschedulable nodes for pods that do not tolerate the unschedulable taint
// (pkg/scheduler/framework/plugins/nodeunschedulable, v1.37).
package nodeunschedulable

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is NodeUnschedulable.
var Plugin = &plugin.Plugin{
	Name:    verdict.NodeUnschedulable,
	Compile: compile,
	Static:  true,
}

func compile(c *plugin.Cycle, s *rule.Set) {
	if c.State.Unschedulable.Empty() || tainttoleration.Tolerate(c.Pod.Spec().Tolerations, &cluster.UnschedulableTaint, c.Profile) {
		return
	}
	s.Static = append(s.Static, rule.Static{
		ID:       verdict.PodRule{Plugin: verdict.NodeUnschedulable},
		Code:     verdict.UnschedulableAndUnresolvable,
		Reason:   verdict.ReasonOf(verdict.ReasonNodeUnschedulable),
		Rejected: c.State.Unschedulable,
	})
}
