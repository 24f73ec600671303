package podtopologyspread

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Rules is a pod's constraints in a form that pods can be added to one by one.
type Rules struct {
	Hard []Hard
	Soft []Soft
	// Keys is the nodes that have the keys of all hard constraints, Scored those that soft ones score.
	Keys, Scored nodeset.Set
}

// NewRules counts the pods that there are.
func NewRules(c *plugin.Cycle) *Rules {
	hards := constraints(c, false)
	softs := constraints(c, true)
	r := &Rules{Keys: withAllKeys(c.State.Len(), hards), Scored: scorable(c, softs)}
	for _, h := range count(c, match(c, hards), r.Keys) {
		r.Hard = append(r.Hard, Hard{h})
	}
	for _, k := range softs {
		s := Soft{constraint: k, counted: k.included(c, r.Scored)}
		if k.TopologyKey == HostnameKey {
			s.PerNode = topology.PerNode(c.State.Len(), k.matching(c))
		} else {
			s.slotOf = k.slots()
			s.bySlotOf = k.bySlot(c, s.counted, s.slotOf)
		}
		r.Soft = append(r.Soft, s)
	}
	return r
}

// Hard is a hard constraint with its counts.
type Hard struct{ hard }

// Column returns the domains.
func (h *Hard) Column() *topology.Column { return h.column }

// Counts returns how many pods count, by domain.
func (h *Hard) Counts() []int64 { return h.counts }

// Count returns how many pods count in a domain.
func (h *Hard) Count(domain int32) int64 { return h.counts[domain] }

// Allows reports whether the pod may be in a domain with so many pods.
func (h *Hard) Allows(count int64) bool { return h.skew(count) <= int64(h.MaxSkew) }

// AddPod counts a pod on a node and reports whether it counts.
func (h *Hard) AddPod(node uint32) bool {
	if !h.counted.Has(node) {
		return false
	}
	d := h.column.Domain[node]
	h.counts[d]++
	if h.counts[d]-1 == h.minimum && h.least > 0 {
		if h.least--; h.least == 0 {
			h.findMinimum()
		}
	}
	return true
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

// Effect is which constraints, by index, a pod of a group counts for.
type Effect struct{ Hard, Soft []int }

// Effect returns what a pod of a group changes.
func (r *Rules) Effect(c *plugin.Cycle, g *cluster.Group) Effect {
	var e Effect
	for i := range r.Hard {
		if r.Hard[i].matches(c, g) {
			e.Hard = append(e.Hard, i)
		}
	}
	for i := range r.Soft {
		if r.Soft[i].matches(c, g) {
			e.Soft = append(e.Soft, i)
		}
	}
	return e
}
