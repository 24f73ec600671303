// Package nodeports keeps pods off nodes where a host port that they ask for is taken
// (pkg/scheduler/framework/plugins/nodeports, v1.37).
package nodeports

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is NodePorts.
var Plugin = &plugin.Plugin{
	Name:    verdict.NodePorts,
	Compile: compile,
	Explain: explain,
}

func compile(c *plugin.Cycle, s *rule.Set) {
	if len(c.Pod.HostPorts) == 0 {
		return
	}
	wanted := newPorts(c.Pod.HostPorts)
	weight := func(g *cluster.Group) int64 {
		if _, clashes := wanted.conflict(g.HostPorts); clashes {
			return 1
		}
		return 0
	}
	s.Exclusions = append(s.Exclusions, rule.NewExclusion(c.State, rule.Exclusion{
		ID:     verdict.JointRule{Plugin: verdict.NodePorts},
		Reason: verdict.ReasonOf(verdict.ReasonHostPort),
		Pods: rule.Pods{Weight: weight, Groups: func(yield func(int, *cluster.Group) bool) {
			for _, i := range c.State.PortGroups() {
				g := c.State.Group(i)
				if c.State.Ended() || weight(g) != 0 && !yield(i, g) {
					return
				}
			}
		}},
		Excludes: func(other *cluster.Pending) bool {
			_, clashes := wanted.conflict(other.HostPorts)
			return clashes
		},
	}))
}
