// Package nodeunschedulable keeps pods off unschedulable nodes, unless they tolerate the taint that goes with it
// (pkg/scheduler/framework/plugins/nodeunschedulable, v1.37).
package nodeunschedulable

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

var taint = api.Taint{Key: "node.kubernetes.io/unschedulable", Effect: api.NoSchedule}

type filter struct{ unschedulable nodeset.Set }

// NewFilter prepares the plugin; nil if it lets the pod go everywhere.
func NewFilter(c *plugin.Cycle) plugin.Filter {
	if c.State.Unschedulable.Empty() || tainttoleration.Tolerate(c.Pod.Spec().Tolerations, &taint, c.Profile) {
		return nil
	}
	return filter{c.State.Unschedulable}
}

func (f filter) Refuse(in nodeset.Set) []plugin.Refusal {
	return plugin.Refused(plugin.Both(in, f.unschedulable), true, verdict.ReasonNodeUnschedulable)
}
