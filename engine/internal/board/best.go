package board

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// contender is a group of feasible nodes.
type contender struct {
	group, cell  int32
	own, settled bool
	live         int32 // nodes
	values       []int64
	wishes       int64
	spread       int64
	// top is the entry of the group's best node, or, until that is settled, one that is not lower. score is what all nodes
	// of the group score, in the place of scores in entries.
	top, score uint64
}

// Best returns the node that the next of the template's pods goes to, and whether there is one.
func (t *Template) Best() (uint32, bool) {
	t.catchUp()
	if t.base != nil && t.vain > len(t.board.all) {
		t.absorb()
	}
	cs := t.feasible()
	if len(cs) == 0 {
		return 0, false
	}
	t.score(cs)
	for {
		best := &cs[0]
		for i := range cs[1:] {
			if c := &cs[1+i]; c.score+c.top > best.score+best.top {
				best = c
			}
		}
		if best.settled {
			return t.board.nodeOf(^uint32(best.top)), true
		}
		best.settled = true
		best.top = t.settle(best)
	}
}

// settle returns the entry of a contending group's best node.
func (t *Template) settle(c *contender) uint64 {
	if c.own {
		return t.own.settle(c.group)
	}
	if t.own == nil {
		return t.base.settle(c.group)
	}
	top, vain := t.base.bestBut(c.group, t.left)
	t.vain += vain
	return top
}

// feasible returns the groups whose nodes can take the pod.
func (t *Template) feasible() []contender {
	cs := t.board.contenders[:0]
	if t.anyRefused {
		t.anyRefused = false
		clear(t.refused)
	}
	if t.base != nil {
		for _, g := range t.base.active {
			group := &t.base.groups[g]
			live := group.live
			if t.own != nil {
				live -= t.leftLive[g]
			}
			if live > 0 {
				cs = append(cs, contender{group: g, cell: group.cell, live: live, values: t.usual, top: group.heap[0]})
				cs = t.contend(cs)
			}
		}
	}
	if t.own != nil {
		for _, g := range t.own.active {
			group := &t.own.groups[g]
			cs = append(cs, contender{
				group: g, cell: group.cell, own: true, live: group.live, values: t.own.valuesOf(g), top: group.heap[0],
			})
			cs = t.contend(cs)
		}
	}
	t.board.contenders = cs
	return cs
}

// contend drops the last contender if its nodes cannot take the pod.
func (t *Template) contend(cs []contender) []contender {
	c := &cs[len(cs)-1]
	if !t.allows(c.cell, c.values) {
		t.anyRefused = true
		t.refused[c.cell] = 1
		return cs[:len(cs)-1]
	}
	if t.wishesAt != noValue {
		c.wishes = c.values[t.wishesAt]
	}
	for i := range t.wishes {
		if k := &t.wishes[i]; k.cells != nil {
			c.wishes += t.preferred.Tallies[i].ByDomain[k.cells[c.cell]]
		}
	}
	return cs
}

// allows reports whether the pod's and other pods' rules let it go to a group's nodes.
func (t *Template) allows(cell int32, values []int64) bool {
	for i := range t.apart {
		if k := &t.apart[i]; k.cells != nil && t.rules.Exclusions[i].Counts()[k.cells[cell]] > 0 {
			return false
		}
	}
	for i := range t.hard {
		k, r := &t.hard[i], t.rules.Spread[i]
		if k.cells != nil {
			if !r.AllowsCount(r.Counts()[k.cells[cell]]) {
				return false
			}
		} else if !r.AllowsCount(values[k.value]) {
			return false
		}
	}
	if len(t.together) == 0 {
		return true
	}
	needed := t.rules.Affinity.Needs()
	if t.togetherAt != noValue && rule.Level(values[t.togetherAt]) < needed {
		return false
	}
	for i := range t.together {
		if k := &t.together[i]; k.cells != nil && t.terms[i].Level(k.cells[cell]) < needed {
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
		c.score = uint64(total) << 32
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
		var sum float64
		for j := range t.soft {
			k, s := &t.soft[j], &t.softly[j]
			if k.cells == nil {
				if count := c.values[k.value]; count >= 0 {
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
		s := &t.softly[i]
		domains := 0
		switch {
		case s.PerNode != nil:
			for j := range cs {
				if t.scored[cs[j].cell] {
					domains += int(cs[j].live)
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
		case !t.anyRefused:
			domains = t.present[at].slots
			at++
		default:
			domains = t.slotsOf(&t.present[at], cs)
			at++
		}
		weights[i] = s.Weight(domains)
	}
	return weights
}
