package podtopologyspread

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Score returns the nodes' normalized scores; nil if the pod has no soft constraints.
func Score(c *plugin.Cycle, feasible []uint32) []int64 {
	compiled := constraints(c, true)
	if len(compiled) == 0 {
		return nil
	}
	softs, eligible := newSofts(c, compiled)
	scored := feasible
	if !eligible.Full(c.State.Len()) {
		scored = make([]uint32, 0, len(feasible))
		for _, n := range feasible {
			if eligible.Has(n) {
				scored = append(scored, n)
			}
		}
	}
	for i := range softs {
		softs[i].weigh(scored)
	}

	raw := c.Scores(len(feasible))
	addUp(raw, softs, feasible)
	lowest, highest := int64(math.MaxInt64), int64(0)
	for i, n := range feasible {
		if eligible.Has(n) {
			lowest, highest = min(lowest, raw[i]), max(highest, raw[i])
		}
	}
	// Distinct values are usually few, with long runs.
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

// Normalized returns the normalized form of one raw score.
func Normalized(raw, lowest, highest int64) int64 {
	if highest == 0 {
		return plugin.MaxScore
	}
	return plugin.MaxScore * (highest + lowest - raw) / highest
}

// scorable returns the nodes that soft constraints score. With the system's default constraints, a node without the
// zone key is still scored by hostname.
func scorable(c *plugin.Cycle, cs []constraint) nodeset.Set {
	if len(c.Pod.Spec().Spread) > 0 || !c.Profile.SystemDefaultSpread {
		return withAllKeys(c.State.Len(), cs)
	}
	return nodeset.Full(c.State.Len())
}

// weigh computes the weight, and what each domain adds to the raw score. Pods on all eligible nodes count, but only in
// domains of nodes that are scored.
func (s *Soft) weigh(scored []uint32) {
	if s.PerNode != nil {
		s.weight = NormalizingWeight(len(scored))
		return
	}
	present := make([]bool, len(s.slotOf))
	size := 0
	for _, n := range scored {
		if slot := s.Slot(s.column.Domain[n]); !present[slot] {
			present[slot] = true
			size++
		}
	}
	s.weight = NormalizingWeight(size)
	s.byDomain = make([]float64, len(s.slotOf))
	for d := range s.byDomain {
		if d != topology.None {
			s.byDomain[d] = s.Term(s.Count(int32(d)), s.weight)
		}
	}
}

// slots returns the slot in which each domain counts. Nodes without the key share the slot of the empty value.
func (k *constraint) slots() []int32 {
	slotOf := make([]int32, k.column.Len())
	for d := range slotOf {
		if int32(d) != k.column.Empty {
			slotOf[d] = int32(d)
		}
	}
	return slotOf
}

// bySlot returns the number of matching pods on nodes, by slot.
func (k *constraint) bySlot(c *plugin.Cycle, in nodeset.Set, slotOf []int32) []int64 {
	slots := make([]int64, len(slotOf))
	for d, count := range k.count(c, in) {
		slots[slotOf[d]] += count
	}
	return slots
}

// Term returns the raw score of a number of matching pods. The conversion keeps compilers from fusing the
// multiplication and the addition, which would change the last bit.
func (k *constraint) Term(count int64, weight float64) float64 {
	return float64(float64(count)*weight) + float64(k.MaxSkew-1)
}

// NormalizingWeight returns the weight of a constraint by its number of scored domains, or scored nodes with HostnameKey. Without
// it, constraints with few domains would count less than constraints with many.
func NormalizingWeight(domains int) float64 { return math.Log(float64(domains + 2)) }

// addUp sets the nodes' raw scores. It adds up the terms in kube-scheduler's order.
func addUp(raw []int64, softs []Soft, feasible []uint32) {
	if len(softs) == 1 && softs[0].PerNode == nil {
		rounded := make([]int64, len(softs[0].byDomain))
		for d, term := range softs[0].byDomain {
			rounded[d] = Round(term)
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
			case s.PerNode == nil:
				score += s.byDomain[d]
			case d != topology.None:
				score += s.Term(s.PerNode[n], s.weight)
			}
		}
		raw[i] = Round(score)
	}
}
