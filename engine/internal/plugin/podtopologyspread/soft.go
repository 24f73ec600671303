package podtopologyspread

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Soft is a soft constraint with its counts: by node with HostnameKey, whatever the inclusion policies, otherwise by slot.
// Domains with one slot count as one.
type Soft struct {
	constraint
	PerNode []int64

	counted  nodeset.Set
	slotOf   []int32
	bySlotOf []int64

	weight   float64
	byDomain []float64 // what a domain adds to the raw score, without HostnameKey
}

// NewSoft counts the pods for the pod's soft constraints. scored are the nodes that the constraints score.
func NewSoft(c *plugin.Cycle) (softs []Soft, scored nodeset.Set) {
	return newSofts(c, constraints(c, true))
}

func newSofts(c *plugin.Cycle, compiled []constraint) (softs []Soft, scored nodeset.Set) {
	scored = scorable(c, compiled)
	for _, k := range compiled {
		s := Soft{constraint: k}
		if k.TopologyKey == HostnameKey {
			s.PerNode = topology.PerNode(c.State.Len(), k.matching(c))
		} else {
			s.counted, s.slotOf = k.included(c, scored), k.slots()
			s.bySlotOf = k.bySlot(c, s.counted, s.slotOf)
		}
		softs = append(softs, s)
	}
	return softs, scored
}

// Column returns the domains.
func (s *Soft) Column() *topology.Column { return s.column }

// Slots returns the number of slots.
func (s *Soft) Slots() int { return len(s.bySlotOf) }

// Slot returns a domain's slot.
func (s *Soft) Slot(domain int32) int32 { return s.slotOf[domain] }

// Count returns the number of pods that count for nodes of a domain.
func (s *Soft) Count(domain int32) int64 { return s.bySlotOf[s.slotOf[domain]] }

// Counts returns the number of pods that count by domain.
func (s *Soft) Counts() []int64 {
	counts := make([]int64, len(s.slotOf))
	for d := range counts {
		counts[d] = s.Count(int32(d))
	}
	return counts
}

// AddPods adds pods on a node, or removes them if their number is negative, and reports whether they count.
func (s *Soft) AddPods(node uint32, pods int64) bool {
	switch {
	case s.PerNode != nil:
		s.PerNode[node] += pods
	case s.counted.Has(node):
		s.bySlotOf[s.slotOf[s.column.Domain[node]]] += pods
	default:
		return false
	}
	return true
}

// Round returns the raw score from the sum of the terms.
func Round(sum float64) int64 { return int64(math.Round(sum)) }
