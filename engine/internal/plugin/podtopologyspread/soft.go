package podtopologyspread

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// NewSoft counts the pods for the pod's soft constraints. scored is the nodes that these score.
func NewSoft(c *plugin.Cycle) (softs []Soft, scored nodeset.Set) {
	compiled := constraints(c, true)
	scored = scorable(c, compiled)
	for _, k := range compiled {
		s := Soft{constraint: k, counted: k.included(c, scored)}
		if k.TopologyKey == HostnameKey {
			s.PerNode = topology.PerNode(c.State.Len(), k.matching(c))
		} else {
			s.slotOf = k.slots()
			s.bySlotOf = k.bySlot(c, s.counted, s.slotOf)
		}
		softs = append(softs, s)
	}
	return softs, scored
}

// Soft is a soft constraint with its counts: by node with HostnameKey, otherwise by slot. Domains with one slot count as
// one.
type Soft struct {
	constraint
	PerNode []int64

	counted  nodeset.Set
	slotOf   []int32
	bySlotOf []int64
}

// Column returns the domains.
func (s *Soft) Column() *topology.Column { return s.column }

// Slots returns how many slots there may be.
func (s *Soft) Slots() int { return len(s.bySlotOf) }

// Slot returns a domain's slot.
func (s *Soft) Slot(domain int32) int32 { return s.slotOf[domain] }

// Count returns how many pods count for nodes of a domain.
func (s *Soft) Count(domain int32) int64 { return s.bySlotOf[s.slotOf[domain]] }

// Counts returns how many pods count, by domain.
func (s *Soft) Counts() []int64 {
	counts := make([]int64, len(s.slotOf))
	for d := range counts {
		counts[d] = s.Count(int32(d))
	}
	return counts
}

// AddPod counts a pod on a node and reports whether it counts.
func (s *Soft) AddPod(node uint32) bool {
	switch {
	case s.PerNode != nil:
		s.PerNode[node]++
	case s.counted.Has(node):
		s.bySlotOf[s.slotOf[s.column.Domain[node]]]++
	default:
		return false
	}
	return true
}

// Weight returns the weight of a pod where so many domains, or nodes with HostnameKey, are scored.
func (s *Soft) Weight(domains int) float64 { return normalizingWeight(domains) }

// Term returns what a number of pods adds to the raw score of a node that has the key.
func (s *Soft) Term(count int64, weight float64) float64 { return s.term(count, weight) }

// Round returns the raw score of what the constraints' terms add up to, in their order.
func Round(sum float64) int64 { return int64(math.Round(sum)) }

// Matches reports whether the pods of a group count.
func (s *Soft) Matches(c *plugin.Cycle, g *cluster.Group) bool { return s.matches(c, g) }
