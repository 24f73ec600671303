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
	perNode []int64 // matching pods by node, with HostnameKey
	slots   []int64 // matching pods by slot, otherwise
	slot    []int32 // slot of each domain
	weight  float64
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
	if requireAll {
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

	raw := make([]int64, len(feasible))
	lowest, highest := int64(math.MaxInt64), int64(0)
	for i, n := range feasible {
		if !eligible.Has(n) {
			continue
		}
		raw[i] = rawScore(softs, n)
		lowest, highest = min(lowest, raw[i]), max(highest, raw[i])
	}
	for i, n := range feasible {
		switch {
		case !eligible.Has(n):
			raw[i] = 0
		case highest == 0:
			raw[i] = plugin.MaxScore
		default:
			raw[i] = plugin.MaxScore * (highest + lowest - raw[i]) / highest
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
	s.slot = make([]int32, k.column.Len())
	for d := range s.slot {
		if int32(d) != k.column.Empty {
			s.slot[d] = int32(d)
		}
	}
	present := make([]bool, len(s.slot))
	size := 0
	for _, n := range scored {
		if slot := s.slot[k.column.Domain[n]]; !present[slot] {
			present[slot] = true
			size++
		}
	}
	s.weight = normalizingWeight(size)
	s.slots = make([]int64, len(s.slot))
	for d, count := range topology.Count(k.column, k.matching(c), k.included(c, eligible)) {
		s.slots[s.slot[d]] += count
	}
	return s
}

// normalizingWeight keeps constraints with few domains from counting for less than those with many.
func normalizingWeight(domains int) float64 { return math.Log(float64(domains + 2)) }

// rawScore adds up in kube-scheduler's order; the conversions keep compilers from fusing a multiplication and an
// addition, which would change the last bit.
func rawScore(softs []soft, n uint32) int64 {
	var score float64
	for i := range softs {
		s := &softs[i]
		d := s.column.Domain[n]
		if d == topology.None {
			continue
		}
		var count int64
		if s.perNode != nil {
			count = s.perNode[n]
		} else {
			count = s.slots[s.slot[d]]
		}
		score += float64(float64(count)*s.weight) + float64(s.MaxSkew-1)
	}
	return int64(math.Round(score))
}
