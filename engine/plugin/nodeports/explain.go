package nodeports

import (
	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Conflicts returns the pods that hold a port the pod asks for, node by node, at most verdict.MaxDetails.
func Conflicts(c *plugin.Cycle, finder *plugin.Finder, in nodeset.Set) []verdict.HostPortConflict {
	f, ok := NewFilter(c).(filter)
	if !ok {
		return nil
	}
	var out []verdict.HostPortConflict
	wanted := newPorts(c.Pod.HostPorts)
	ports := make(map[int]int32) // by group, of those in the way
	for _, i := range c.State.PortGroups() {
		if port, clashes := wanted.conflict(c.State.Group(i).HostPorts); clashes {
			ports[i] = port.Port
		}
	}
	for n := range plugin.Both(in, f.taken).All() {
		for _, i := range c.State.PortGroups() {
			port, clashes := ports[i]
			if !clashes {
				continue
			}
			for _, h := range finder.On(n, i, verdict.MaxConflictingPods) {
				if len(out) == verdict.MaxDetails {
					return out
				}
				out = append(out, verdict.HostPortConflict{Node: n, Port: port, Holder: h})
			}
		}
	}
	return out
}
