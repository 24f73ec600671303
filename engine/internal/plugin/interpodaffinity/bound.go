package interpodaffinity

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Barred returns the nodes that anti-affinity keeps the pod from, its own or that of pods on nodes, whatever other pods
// come; nil if there are none.
func Barred(c *plugin.Cycle) nodeset.Set {
	barred := shunned(c)
	if b := blocked(c); b != nil {
		barred = or(barred, b)
	}
	return barred
}

// Single returns the keys of which no domain takes two such pods, as they require to be apart from each other.
func Single(c *plugin.Cycle) []*topology.Column {
	var columns []*topology.Column
	for i := range c.Pod.AntiAffinity {
		t := &c.Pod.AntiAffinity[i]
		if t.Matches(c.Pod.Shape.Namespace, nil, c.Pod.Shape.Labels) {
			columns = append(columns, c.State.Column(t.TopologyKey))
		}
	}
	return columns
}
