package placing

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/topology"
)

// contender is a group of feasible nodes.
type contender struct {
	group, cell int32
	wishes      int64
	spread      int64
	// entry is that of the group's best node, or a higher one, with what all nodes of the group score added.
	entry uint64
}

// Best returns the node that the next of the template's pods goes to, and whether there is one.
func (t *Template) Best() (uint32, bool) {
	t.catchUp()
	cs := t.feasible()
	if len(cs) == 0 {
		return 0, false
	}
	t.score(cs)
	for {
		best := &cs[0]
		for i := range cs[1:] {
			if c := &cs[1+i]; c.entry > best.entry {
				best = c
			}
		}
		heap := func() uint64 { return t.index.groups[best.group].heap[0] }
		before := heap()
		if t.index.settle(best.group) {
			return t.board.nodeOf(^uint32(before)), true
		}
		best.entry = best.entry - before + heap()
	}
}

// feasible returns the groups whose nodes can take the pod.
func (t *Template) feasible() []contender {
	b := t.board
	cs := b.contenders[:0]
	for _, g := range t.index.active {
		cell := t.index.groups[g].cell
		values := t.index.valuesOf(g)
		if !t.allows(cell, values) {
			continue
		}
		c := contender{group: g, cell: cell}
		if t.wishesAt != noValue {
			c.wishes = values[t.wishesAt]
		}
		for i := range t.wishes {
			if k := &t.wishes[i]; k.cells != nil {
				c.wishes += t.pods.Wishes[i].ByDomain[k.cells[cell]]
			}
		}
		cs = append(cs, c)
	}
	b.contenders = cs
	return cs
}

// allows reports whether the pod's and other pods' rules let it go to a group's nodes.
func (t *Template) allows(cell int32, values []int64) bool {
	for i := range t.apart {
		if k := &t.apart[i]; k.cells != nil && t.pods.Apart[i].ByDomain[k.cells[cell]] > 0 {
			return false
		}
	}
	for i := range t.hard {
		k, h := &t.hard[i], &t.spread.Hard[i]
		if k.cells != nil {
			if !h.Allows(h.Count(k.cells[cell])) {
				return false
			}
		} else if !h.Allows(values[k.value]) {
			return false
		}
	}
	if len(t.together) == 0 {
		return true
	}
	needed := int64(withMatch)
	if !t.pods.Found && t.pods.SelfMatch {
		needed = withKeys
	}
	if t.togetherAt != noValue && values[t.togetherAt] < needed {
		return false
	}
	for i := range t.together {
		if k := &t.together[i]; k.cells != nil && match(&t.pods.Affinity[i], k.cells[cell]) < needed {
			return false
		}
	}
	return true
}

// score sets the contenders' entries.
func (t *Template) score(cs []contender) {
	w := &t.cycle.Profile.Weights
	mostTaints, mostAffinity := int64(0), int64(0)
	lowest, highest := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range cs {
		c := &cs[i]
		if t.taints != nil {
			mostTaints = max(mostTaints, t.taints[c.cell])
		}
		if t.affinity != nil {
			mostAffinity = max(mostAffinity, t.affinity[c.cell])
		}
		lowest, highest = min(lowest, c.wishes), max(highest, c.wishes)
	}
	leastSpread, mostSpread := t.scoreSpread(cs)
	for i := range cs {
		c := &cs[i]
		total := w.InterPodAffinity * interpodaffinity.Normalized(c.wishes, lowest, highest)
		if t.taints != nil {
			total += w.TaintToleration * plugin.Normalized(t.taints[c.cell], mostTaints, true)
		}
		if t.affinity != nil {
			total += w.NodeAffinity * plugin.Normalized(t.affinity[c.cell], mostAffinity, false)
		}
		if t.images != nil {
			total += w.ImageLocality * t.images[c.cell]
		}
		if len(t.soft) > 0 && t.scored[c.cell] {
			total += w.PodTopologySpread * podtopologyspread.Normalized(c.spread, leastSpread, mostSpread)
		}
		c.entry = uint64(total)<<32 + t.index.groups[c.group].heap[0]
	}
}

// scoreSpread sets the contenders' raw scores by soft constraints, and returns the least and the most.
func (t *Template) scoreSpread(cs []contender) (least, most int64) {
	if len(t.soft) == 0 {
		return 0, 0
	}
	weights := t.weights(cs)
	least = math.MaxInt64
	for i := range cs {
		c := &cs[i]
		if !t.scored[c.cell] {
			continue
		}
		values := t.index.valuesOf(c.group)
		var sum float64
		for j := range t.soft {
			k, s := &t.soft[j], &t.spread.Soft[j]
			if k.cells == nil {
				if count := values[k.value]; count >= 0 {
					sum += s.Term(count, weights[j])
				}
			} else if d := k.cells[c.cell]; d != topology.None {
				sum += s.Term(s.Count(d), weights[j])
			}
		}
		c.spread = podtopologyspread.Round(sum)
		least, most = min(least, c.spread), max(most, c.spread)
	}
	return least, most
}

// weights returns the weights of the soft constraints, which depend on how many domains the feasible nodes have.
func (t *Template) weights(cs []contender) []float64 {
	weights := make([]float64, len(t.soft))
	at := 0
	for i := range t.soft {
		s := &t.spread.Soft[i]
		domains := 0
		switch {
		case s.PerNode != nil:
			for j := range cs {
				if t.scored[cs[j].cell] {
					domains += int(t.index.groups[cs[j].group].live)
				}
			}
		case t.soft[i].cells != nil:
			seen := make([]bool, s.Slots())
			for j := range cs {
				if slot := s.Slot(t.soft[i].cells[cs[j].cell]); t.scored[cs[j].cell] && !seen[slot] {
					seen[slot] = true
					domains++
				}
			}
		case len(cs) == len(t.index.active):
			domains = t.present[at].slots
			at++
		default:
			domains = t.slotsOf(s, cs)
			at++
		}
		weights[i] = s.Weight(domains)
	}
	return weights
}

// slotsOf counts the slots of a constraint that have contending nodes.
func (t *Template) slotsOf(s *podtopologyspread.Soft, cs []contender) int {
	contends := make([]bool, len(t.index.groups))
	for i := range cs {
		contends[cs[i].group] = t.scored[cs[i].cell]
	}
	seen := make([]bool, s.Slots())
	slots := 0
	for n, g := range t.index.where {
		if g == nowhere || !contends[g] {
			continue
		}
		if slot := s.Slot(s.Column().Domain[n]); !seen[slot] {
			seen[slot] = true
			slots++
		}
	}
	return slots
}
