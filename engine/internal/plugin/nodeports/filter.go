// Package nodeports rejects nodes where a requested host port is occupied
// (pkg/scheduler/framework/plugins/nodeports, v1.37).
package nodeports

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is NodePorts.
var Plugin = &plugin.Plugin{
	Name:    verdict.NodePorts,
	Compile: compile,
	Waits:   waits,
	Explain: explain,
}

// waits returns a predicate for the pods whose departure may help: pods with a conflicting port (node_ports.go
// isSchedulableAfterAssignedPodDeleted, v1.37).
func waits(c *plugin.Cycle) func(*plugin.Event) bool {
	wanted := newPorts(c.Pod.HostPorts)
	return func(e *plugin.Event) bool {
		_, clashes := wanted.conflict(e.HostPorts)
		return e.Left && clashes
	}
}

func compile(c *plugin.Cycle, s *rule.Set) {
	if len(c.Pod.HostPorts) == 0 {
		return
	}
	wanted := newPorts(c.Pod.HostPorts)
	clashes := func(ports []api.HostPort) bool {
		_, clashes := wanted.conflict(ports)
		return clashes
	}
	slots := wanted.slots()
	var held map[uint32][]int
	for node, ports := range c.State.OccupiedPorts() {
		if held == nil {
			held = make(map[uint32][]int)
		}
		held[node] = slots(ports)
	}
	s.Exclusions = append(s.Exclusions, rule.NewExclusion(c.State, rule.Exclusion{
		ID:       verdict.PodRule{Plugin: verdict.NodePorts},
		Reason:   verdict.ReasonOf(verdict.ReasonHostPort),
		Pods:     rule.Matching(c.State.WithPorts(), func(g *cluster.Group) bool { return clashes(g.HostPorts) }),
		Excludes: func(other *cluster.Pending) bool { return clashes(other.HostPorts) },
		Slots:    func(g *cluster.Group) []int { return slots(g.HostPorts) },
		Held:     held,
	}))
}
