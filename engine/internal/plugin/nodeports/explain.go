package nodeports

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

func explain(c *plugin.Cycle, x *plugin.Explaining) {
	for _, e := range x.Rules.Exclusions {
		x.PortConflicts = conflicts(c, x, e)
	}
	c.State.Explain(verdict.EntryCost * len(x.PortConflicts))
}

// conflicts returns the pods that occupy a requested host port, node by node, at most verdict.MaxDetails.
func conflicts(c *plugin.Cycle, x *plugin.Explaining, e *rule.Exclusion) []verdict.HostPortConflict {
	var out []verdict.HostPortConflict
	wanted := newPorts(c.Pod.HostPorts)
	var groups []int
	ports := make(map[int]int32) // by group
	for i, g := range e.Pods.Groups {
		port, _ := wanted.conflict(g.HostPorts)
		ports[i] = port.Port
	}
	for n := range plugin.Both(x.Candidates, e.Rejected()).All() {
		groups = groups[:0]
		for i := range ports {
			if c.State.Group(i).Has(n) {
				groups = append(groups, i)
			}
		}
		slices.SortFunc(groups, func(a, b int) int { return c.State.CompareOn(n, a, b) })
		for _, i := range groups {
			port := ports[i]
			for _, h := range c.State.ConflictingPods(n, i, verdict.MaxConflictingPods) {
				if len(out) == verdict.MaxDetails {
					return out
				}
				out = append(out, verdict.HostPortConflict{Node: n, Port: port, Holder: h})
			}
		}
	}
	return out
}
