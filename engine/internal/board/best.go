package board

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// contender is a bucket whose nodes are feasible.
type contender struct {
	bucket, cell int32
	own, exact   bool
	live         int32 // number of nodes
	values       []int64
	preferred    int64
	spread       int64
	// top is the heap entry of the best node, or an upper bound of it until exact is set. score is the score that all
	// nodes of the bucket have in common, shifted above the resource score.
	top, score uint64
}

// Best returns the best node for the next pod of the class, and whether one is feasible. It follows CatchUp.
func (cl *Class) Best() (uint32, bool) {
	if cl.base != nil && cl.misses > len(cl.board.all) {
		cl.absorb()
	}
	cs := cl.feasible()
	if len(cs) == 0 {
		return 0, false
	}
	cl.score(cs)
	for {
		best := &cs[0]
		for i := range cs[1:] {
			if c := &cs[1+i]; c.score+c.top > best.score+best.top {
				best = c
			}
		}
		if best.exact {
			return cl.board.nodeOf(best.top), true
		}
		best.exact = true
		best.top = cl.refresh(best)
	}
}

// refresh returns the heap entry of the best node of a contender.
func (cl *Class) refresh(c *contender) uint64 {
	if c.own {
		return cl.own.refresh(c.bucket)
	}
	if cl.own == nil {
		return cl.base.refresh(c.bucket)
	}
	top, misses := cl.base.bestExcept(c.bucket, cl.removed)
	cl.misses += misses
	return top
}

// feasible returns the buckets whose nodes are feasible.
func (cl *Class) feasible() []contender {
	cs := cl.board.contenders[:0]
	if cl.anyRejected {
		cl.anyRejected = false
		clear(cl.rejected)
	}
	if cl.base != nil {
		for _, i := range cl.base.active {
			b := &cl.base.buckets[i]
			live := b.live
			if cl.own != nil && int(i) < len(cl.removedLive) {
				live -= cl.removedLive[i]
			}
			if live > 0 {
				cs = append(cs, contender{bucket: i, cell: b.cell, live: live, values: cl.usual, top: b.heap[0]})
				cs = cl.contend(cs)
			}
		}
	}
	if cl.own != nil {
		for _, i := range cl.own.active {
			b := &cl.own.buckets[i]
			cs = append(cs, contender{
				bucket: i, cell: b.cell, own: true, live: b.live, values: cl.own.valuesOf(i), top: b.heap[0],
			})
			cs = cl.contend(cs)
		}
	}
	cl.board.contenders = cs
	return cs
}

// contend drops the last contender if its nodes are infeasible.
func (cl *Class) contend(cs []contender) []contender {
	c := &cs[len(cs)-1]
	if !cl.allows(c.cell, c.values) {
		cl.anyRejected = true
		cl.rejected[c.cell] = 1
		return cs[:len(cs)-1]
	}
	for i := range cl.preferredKeys {
		if k := &cl.preferredKeys[i]; k.cells != nil {
			c.preferred += cl.preferred.Tallies[i].ByDomain[k.cells[c.cell]]
		} else {
			c.preferred += c.values[k.at]
		}
	}
	return cs
}

// allows reports whether spread constraints, affinity, anti-affinity and host ports allow the nodes of a bucket.
func (cl *Class) allows(cell int32, values []int64) bool {
	for i := range cl.exclusionKeys {
		if k := &cl.exclusionKeys[i]; k.cells != nil && cl.rules.Exclusions[i].Counts()[k.cells[cell]] > 0 {
			return false
		}
	}
	for i := range cl.spreadKeys {
		k, r := &cl.spreadKeys[i], cl.rules.Spread[i]
		if k.cells != nil {
			if !r.AllowsCount(r.Counts()[k.cells[cell]]) {
				return false
			}
		} else if !r.AllowsCount(values[k.at]) {
			return false
		}
	}
	if len(cl.affinityKeys) == 0 {
		return true
	}
	needed := cl.rules.Affinity.Needs()
	for i := range cl.affinityKeys {
		k := &cl.affinityKeys[i]
		if k.cells != nil {
			if cl.terms[i].Level(k.cells[cell]) < needed {
				return false
			}
		} else if rule.Level(values[k.at]) < needed {
			return false
		}
	}
	return true
}

// score sets the common scores of the contenders.
func (cl *Class) score(cs []contender) {
	w := &cl.cycle.Profile.Weights
	mostTaints, mostAffinity := int64(0), int64(0)
	lowest, highest := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range cs {
		c := &cs[i]
		if cl.taints != nil {
			mostTaints = max(mostTaints, cl.taints[c.cell])
		}
		if cl.affinity != nil {
			mostAffinity = max(mostAffinity, cl.affinity[c.cell])
		}
		lowest, highest = min(lowest, c.preferred), max(highest, c.preferred)
	}
	leastSpread, mostSpread := cl.scoreSpread(cs)
	for i := range cs {
		c := &cs[i]
		total := w.InterPodAffinity * interpodaffinity.Normalized(c.preferred, lowest, highest)
		if cl.taints != nil {
			total += w.TaintToleration * plugin.Normalized(cl.taints[c.cell], mostTaints, true)
		}
		if cl.affinity != nil {
			total += w.NodeAffinity * plugin.Normalized(cl.affinity[c.cell], mostAffinity, false)
		}
		if cl.images != nil {
			total += w.ImageLocality * cl.images[c.cell]
		}
		if len(cl.softKeys) > 0 && cl.scored[c.cell] {
			total += w.PodTopologySpread * podtopologyspread.Normalized(c.spread, leastSpread, mostSpread)
		}
		c.score = uint64(total) << 32
	}
}

// scoreSpread sets the raw scores by soft constraints and returns their range.
func (cl *Class) scoreSpread(cs []contender) (least, most int64) {
	if len(cl.softKeys) == 0 {
		return 0, 0
	}
	weights := cl.weights(cs)
	least = math.MaxInt64
	for i := range cs {
		c := &cs[i]
		if !cl.scored[c.cell] {
			continue
		}
		var sum float64
		for j := range cl.softKeys {
			k, s := &cl.softKeys[j], &cl.soft[j]
			if k.cells == nil {
				if count := c.values[k.at]; count >= 0 {
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

// weights returns the weights of the soft constraints. They depend on the number of domains with feasible nodes.
func (cl *Class) weights(cs []contender) []float64 {
	weights := make([]float64, len(cl.softKeys))
	at := 0
	for i := range cl.softKeys {
		s := &cl.soft[i]
		domains := 0
		switch {
		case s.PerNode != nil:
			for j := range cs {
				if cl.scored[cs[j].cell] {
					domains += int(cs[j].live)
				}
			}
		case cl.softKeys[i].cells != nil:
			seen := make([]bool, s.Slots())
			for j := range cs {
				if slot := s.Slot(cl.softKeys[i].cells[cs[j].cell]); cl.scored[cs[j].cell] && !seen[slot] {
					seen[slot] = true
					domains++
				}
			}
		default:
			domains = cl.slotsOf(&cl.present[at], cs)
			at++
		}
		weights[i] = podtopologyspread.NormalizingWeight(domains)
	}
	return weights
}
