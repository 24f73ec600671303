package interpodaffinity

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Required is a pod's required terms one by one, for those who place several pods at once.
type Required struct {
	// Inhabited tells, for each affinity term, which domains have pods that match all of them.
	Inhabited [][]bool
	// Shunned is the nodes that each anti-affinity term refuses, Blocked those that pods on nodes refuse, nil for none.
	Shunned []nodeset.Set
	Blocked nodeset.Set
}

// NewRequired finds what the pods on nodes mean to the pod's terms.
func NewRequired(c *plugin.Cycle) *Required {
	r := &Required{Blocked: blocked(c)}
	if len(c.Pod.Affinity) > 0 {
		members := matchingAll(c)
		for i := range c.Pod.Affinity {
			column := c.State.Column(c.Pod.Affinity[i].TopologyKey)
			inhabited := make([]bool, column.Len())
			for d, n := range topology.Count(column, members, nil) {
				inhabited[d] = d != topology.None && n > 0
			}
			r.Inhabited = append(r.Inhabited, inhabited)
		}
	}
	for i := range c.Pod.AntiAffinity {
		t := &c.Pod.AntiAffinity[i]
		table := make([]uint8, c.State.Column(t.TopologyKey).Len())
		for d, n := range c.State.Counts(t) {
			if d != topology.None && n > 0 {
				table[d] = 1
			}
		}
		r.Shunned = append(r.Shunned, c.State.Column(t.TopologyKey).Where(table))
	}
	return r
}

// Wants reports whether pods of a shape match all of a pod's affinity terms, of which it has some.
func Wants(p *cluster.Pending, s *cluster.Shape) bool {
	return len(p.Affinity) > 0 && matchesAll(p.Affinity, s)
}

// Avoids reports whether a pod's anti-affinity term keeps it and pods of another shape apart: either decision may find so,
// as namespaces that nobody has heard of are looked at differently.
func Avoids(p *cluster.Pending, term int, other *cluster.Pending) bool {
	return p.AntiAffinity[term].Matches(other.Namespace, nil, other.Shape.Labels) ||
		p.Shape.AntiAffinity[term].Matches(other.Namespace, other.NamespaceLabels, other.Shape.Labels)
}
