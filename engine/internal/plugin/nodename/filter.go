// Package nodename lets a pod that names a node go to that node only
// (pkg/scheduler/framework/plugins/nodename, v1.37).
package nodename

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

type filter struct{ others nodeset.Set }

// NewFilter prepares the plugin; nil if the pod names no node.
func NewFilter(c *plugin.Cycle) plugin.Filter {
	name := c.Pod.Spec().NodeName
	if name == "" {
		return nil
	}
	n := c.State.Len()
	others := nodeset.Full(n)
	if i, ok := c.State.Node(name); ok {
		others.AndNot(nodeset.Of(n, []uint32{i}))
	}
	return filter{others}
}

func (f filter) Refuse(in nodeset.Set) []plugin.Refusal {
	return plugin.Refused(plugin.Both(in, f.others), true, verdict.ReasonNodeName)
}
