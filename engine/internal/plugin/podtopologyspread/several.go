package podtopologyspread

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Constraint is one of a pod's hard constraints and what it counts, for those who place several pods at once.
type Constraint struct {
	Index       int // in the pod's constraints, or in the default ones
	TopologyKey string
	MaxSkew     int64
	Column      *topology.Column
	// Counted is the nodes whose pods count, Present the domains that do, Counts the pods in each.
	Counted nodeset.Set
	Present []bool
	Counts  []int64
	// Floor says that the minimum is 0 whatever is counted, as there are fewer domains than minDomains.
	Floor     bool
	SelfMatch bool

	constraint *constraint
	minimum    int64
	of         *cluster.Shape
}

// HardConstraints returns the pod's hard constraints.
func HardConstraints(c *plugin.Cycle) []Constraint {
	cs := constraints(c, false)
	eligible := withAllKeys(c.State.Len(), cs)
	out := make([]Constraint, len(cs))
	for i, h := range count(c, match(c, cs), eligible) {
		out[i] = Constraint{
			Index:       h.index,
			TopologyKey: h.TopologyKey,
			MaxSkew:     int64(h.MaxSkew),
			Column:      h.column,
			Counted:     h.counted,
			Present:     h.present,
			Counts:      h.counts,
			Floor:       h.domains < int(h.MinDomains),
			SelfMatch:   h.selfMatch,
			constraint:  &cs[i],
			minimum:     h.minimum,
			of:          c.Pod.Shape,
		}
	}
	return out
}

// Matches reports whether pods of a shape count where the constraint counts.
func (k *Constraint) Matches(s *cluster.Shape) bool {
	selects := k.constraint.selector
	return s.Namespace == k.of.Namespace && !s.Terminating && !selects.Empty() && selects.Matches(s.Labels)
}

// SkewOn returns by how much the domain of a node, which has the key, would exceed the minimum with the pod in it.
func (k *Constraint) SkewOn(node uint32) int64 {
	skew := k.Counts[k.Column.Domain[node]] - k.minimum
	if k.SelfMatch {
		skew++
	}
	return skew
}
