package podtopologyspread

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// soft is a soft constraint with its counts.
type soft struct {
	constraint
	perNode  []int64   // matching pods by node, with HostnameKey
	byDomain []float64 // what a domain adds to the raw score, otherwise
	weight   float64
}

// Score returns the nodes' normalized scores; nil if the pod has no soft constraints.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	cs := constraints(c, true)
	if len(cs) == 0 {
		return nil
	}
	eligible := scorable(c, cs)
	scored := feasible
	if !eligible.Full(c.State.Len()) {
		scored = make([]uint32, 0, len(feasible))
		for _, n := range feasible {
			if eligible.Has(n) {
				scored = append(scored, n)
			}
		}
	}
	softs := make([]soft, len(cs))
	for i := range cs {
		softs[i] = newSoft(c, cs[i], eligible, scored)
	}

	raw := c.Scores(len(feasible))
	addUp(raw, softs, feasible)
	lowest, highest := int64(math.MaxInt64), int64(0)
	for i, n := range feasible {
		if eligible.Has(n) {
			lowest, highest = min(lowest, raw[i]), max(highest, raw[i])
		}
	}
	// Few values occur, as a rule, and many in a row.
	last, normalized := int64(-1), int64(0)
	for i, n := range feasible {
		switch {
		case !eligible.Has(n):
			raw[i] = 0
		default:
			if raw[i] != last {
				last, normalized = raw[i], Normalized(raw[i], lowest, highest)
			}
			raw[i] = normalized
		}
	}
	return raw
}

// Normalized returns the score of a raw score between the lowest and the highest.
func Normalized(raw, lowest, highest int64) int64 {
	if highest == 0 {
		return plugin.MaxScore
	}
	return plugin.MaxScore * (highest + lowest - raw) / highest
}

// scorable returns the nodes that soft constraints score. With the system's default ones a node that lacks the zone key is
// still scored by hostname.
func scorable(c *plugin.Cycle, cs []constraint) nodeset.Set {
	if len(c.Pod.Spec().Spread) > 0 || !c.Profile.SystemDefaultSpread {
		return withAllKeys(c.State.Len(), cs)
	}
	return nodeset.Full(c.State.Len())
}

// newSoft counts. Pods on all eligible nodes count, but only in domains of nodes that are scored; for HostnameKey each
// node counts on its own, whatever the inclusion policies.
func newSoft(c *plugin.Cycle, k constraint, eligible nodeset.Set, scored []uint32) soft {
	s := soft{constraint: k}
	if k.TopologyKey == HostnameKey {
		s.perNode = topology.PerNode(c.State.Len(), k.matching(c))
		s.weight = normalizingWeight(len(scored))
		return s
	}
	slotOf := k.slots()
	present := make([]bool, len(slotOf))
	size := 0
	for _, n := range scored {
		if slot := slotOf[k.column.Domain[n]]; !present[slot] {
			present[slot] = true
			size++
		}
	}
	s.weight = normalizingWeight(size)
	slots := k.bySlot(c, k.included(c, eligible), slotOf)
	s.byDomain = make([]float64, len(slotOf))
	for d := range s.byDomain {
		if d != topology.None {
			s.byDomain[d] = s.term(slots[slotOf[d]], s.weight)
		}
	}
	return s
}

// slots returns where each domain counts: nodes without the key count as if its value were empty.
func (k *constraint) slots() []int32 {
	slotOf := make([]int32, k.column.Len())
	for d := range slotOf {
		if int32(d) != k.column.Empty {
			slotOf[d] = int32(d)
		}
	}
	return slotOf
}

// bySlot returns how many pods that count are on some nodes, by slot.
func (k *constraint) bySlot(c *plugin.Cycle, in nodeset.Set, slotOf []int32) []int64 {
	slots := make([]int64, len(slotOf))
	for d, count := range k.count(c, in) {
		slots[slotOf[d]] += count
	}
	return slots
}

// term returns what a number of matching pods adds to the raw score. The conversion keeps compilers from fusing the
// multiplication and the addition, which would change the last bit.
func (k *constraint) term(count int64, weight float64) float64 {
	return float64(float64(count)*weight) + float64(k.MaxSkew-1)
}

// normalizingWeight keeps constraints with few domains from counting for less than those with many.
func normalizingWeight(domains int) float64 { return math.Log(float64(domains + 2)) }

// addUp sets the nodes' raw scores, adding up in kube-scheduler's order.
func addUp(raw []int64, softs []soft, feasible []uint32) {
	if len(softs) == 1 && softs[0].perNode == nil {
		rounded := make([]int64, len(softs[0].byDomain))
		for d, term := range softs[0].byDomain {
			rounded[d] = int64(math.Round(term))
		}
		for i, n := range feasible {
			raw[i] = rounded[softs[0].column.Domain[n]]
		}
		return
	}
	for i, n := range feasible {
		var score float64
		for j := range softs {
			s := &softs[j]
			switch d := s.column.Domain[n]; {
			case s.perNode == nil:
				score += s.byDomain[d]
			case d != topology.None:
				score += s.term(s.perNode[n], s.weight)
			}
		}
		raw[i] = int64(math.Round(score))
	}
}
