package podtopologyspread

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/topology"
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
	// With the system's default constraints a node that lacks the zone key is still scored by hostname.
	requireAll := len(c.Pod.Spec().Spread) > 0 || !c.Profile.SystemDefaultSpread
	eligible := nodeset.Full(c.State.Len())
	if requireAll {
		eligible = withAllKeys(c.State.Len(), cs)
	}
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
		case highest == 0:
			raw[i] = plugin.MaxScore
		default:
			if raw[i] != last {
				last, normalized = raw[i], plugin.MaxScore*(highest+lowest-raw[i])/highest
			}
			raw[i] = normalized
		}
	}
	return raw
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
	// Nodes without the key count as if its value were empty.
	slotOf := make([]int32, k.column.Len())
	for d := range slotOf {
		if int32(d) != k.column.Empty {
			slotOf[d] = int32(d)
		}
	}
	present := make([]bool, len(slotOf))
	size := 0
	for _, n := range scored {
		if slot := slotOf[k.column.Domain[n]]; !present[slot] {
			present[slot] = true
			size++
		}
	}
	s.weight = normalizingWeight(size)
	slots := make([]int64, len(slotOf))
	_, counts := k.count(c, k.included(c, eligible))
	for d, count := range counts {
		slots[slotOf[d]] += count
	}
	s.byDomain = make([]float64, len(slotOf))
	for d := range s.byDomain {
		if d != topology.None {
			s.byDomain[d] = s.term(slots[slotOf[d]])
		}
	}
	return s
}

// term returns what a number of matching pods adds to the raw score. The conversion keeps compilers from fusing the
// multiplication and the addition, which would change the last bit.
func (s *soft) term(count int64) float64 {
	return float64(float64(count)*s.weight) + float64(s.MaxSkew-1)
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
				score += s.term(s.perNode[n])
			}
		}
		raw[i] = int64(math.Round(score))
	}
}
