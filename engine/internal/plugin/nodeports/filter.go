// Package nodeports keeps pods off nodes where a host port that they ask for is taken
// (pkg/scheduler/framework/plugins/nodeports, v1.37).
package nodeports

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

type filter struct{ taken nodeset.Set }

// NewFilter prepares the plugin; nil if the pod asks for no host ports.
func NewFilter(c *plugin.Cycle) plugin.Filter {
	if len(c.Pod.HostPorts) == 0 {
		return nil
	}
	taken := nodeset.New(c.State.Len())
	wanted := newPorts(c.Pod.HostPorts)
	for _, i := range c.State.PortGroups() {
		g := c.State.Group(i)
		if c.State.Ended() {
			break
		}
		if _, ok := wanted.conflict(g.HostPorts); !ok {
			continue
		}
		for _, n := range g.Nodes {
			taken.Add(n)
		}
		for _, n := range g.Assumed {
			taken.Add(n)
		}
	}
	return filter{taken}
}

func (f filter) Refuse(in nodeset.Set) []plugin.Refusal {
	return plugin.Refused(plugin.Both(in, f.taken), false, verdict.ReasonHostPort)
}
