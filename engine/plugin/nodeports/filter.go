// Package nodeports keeps pods off nodes where a host port that they ask for is taken
// (pkg/scheduler/framework/plugins/nodeports, v1.37).
package nodeports

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

type filter struct{ taken nodeset.Set }

// NewFilter prepares the plugin; nil if the pod asks for no host ports.
func NewFilter(c *plugin.Cycle) plugin.Filter {
	if len(c.Pod.HostPorts) == 0 {
		return nil
	}
	taken := nodeset.New(c.State.Len())
	for _, i := range c.State.PortGroups() {
		g := c.State.Group(i)
		if _, ok := Conflict(c.Pod.HostPorts, g.HostPorts); !ok {
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

// Conflict returns the first of the wanted ports that clashes with one of those taken, and whether one does.
func Conflict(wanted, taken []api.HostPort) (api.HostPort, bool) {
	for _, w := range wanted {
		for _, t := range taken {
			if clash(w, t) {
				return w, true
			}
		}
	}
	return api.HostPort{}, false
}

func clash(a, b api.HostPort) bool {
	return a.Port == b.Port && a.Protocol == b.Protocol &&
		(everyAddress(a.HostIP) || everyAddress(b.HostIP) || a.HostIP == b.HostIP)
}

func everyAddress(ip string) bool { return ip == "" || ip == "0.0.0.0" }
