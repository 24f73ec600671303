// Package nodename restricts a pod with a node name to that node
// (pkg/scheduler/framework/plugins/nodename, v1.37).
package nodename

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is NodeName.
var Plugin = &plugin.Plugin{
	Name: verdict.NodeName,
	PreFilter: func(c *plugin.Cycle) plugin.PreFilterResult {
		name := c.Pod.Spec().NodeName
		return plugin.PreFilterResult{Restricted: name != "", Names: []string{name}}
	},
	Compile: compile,
	Static:  true,
}

func compile(c *plugin.Cycle, s *rule.Set) {
	name := c.Pod.Spec().NodeName
	if name == "" {
		return
	}
	others := nodeset.Full(c.State.Len())
	if i, ok := c.State.Node(name); ok {
		others.Remove(i)
	}
	s.Static = append(s.Static, rule.Static{
		ID:       verdict.PodRule{Plugin: verdict.NodeName},
		Code:     verdict.UnschedulableAndUnresolvable,
		Reason:   verdict.ReasonOf(verdict.ReasonNodeName),
		Rejected: others,
	})
}
