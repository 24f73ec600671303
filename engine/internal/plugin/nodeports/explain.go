package nodeports

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
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
	var groups []int
	ports := make(map[int]int32) // by group, of those in the way
	for _, i := range c.State.PortGroups() {
		if port, clashes := wanted.conflict(c.State.Group(i).HostPorts); clashes {
			ports[i] = port.Port
		}
	}
	for n := range plugin.Both(in, f.taken).All() {
		groups = groups[:0]
		for i := range ports {
			if c.State.Group(i).Has(n) {
				groups = append(groups, i)
			}
		}
		slices.SortFunc(groups, func(a, b int) int { return c.State.CompareOn(n, a, b) })
		for _, i := range groups {
			port := ports[i]
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
