package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
)

// presence counts feasible nodes by slot, for a soft constraint by value.
type presence struct {
	soft  *podtopologyspread.Soft
	nodes []int32 // by slot
	slots int     // slots with nodes
	// remaining caches the number of slots without the nodes of rejected cells. A node that is added to the counts or removed clears it.
	remaining map[string]int
}

// countPresent counts the nodes of each slot, for soft constraints by value.
func (cl *Class) countPresent() {
	for i := range cl.softKeys {
		if s := &cl.soft[i]; cl.softKeys[i].cells == nil && s.PerNode == nil {
			cl.present = append(cl.present, presence{soft: s, nodes: make([]int32, s.Slots()), remaining: make(map[string]int)})
		}
	}
	if cl.present == nil {
		return
	}
	cl.counted = nodeset.New(len(cl.board.all))
	for _, n := range cl.board.all {
		cl.countOn(n, cl.live(n))
	}
}

// countOn counts a node if it is live, and removes it from the counts otherwise.
func (cl *Class) countOn(n uint32, live bool) {
	if cl.present == nil || !cl.scorable.Has(n) || live == cl.counted.Has(n) {
		return
	}
	if live {
		cl.counted.Add(n)
	} else {
		cl.counted.Remove(n)
	}
	for i := range cl.present {
		p := &cl.present[i]
		slot := p.soft.Slot(p.soft.Column().Domain[n])
		if live {
			if p.nodes[slot]++; p.nodes[slot] == 1 {
				p.slots++
			}
		} else if p.nodes[slot]--; p.nodes[slot] == 0 {
			p.slots--
		}
		clear(p.remaining)
	}
}

// slotsOf counts the slots of a constraint that have feasible nodes.
func (cl *Class) slotsOf(p *presence, cs []contender) int {
	if !cl.anyRejected {
		return p.slots
	}
	if slices.ContainsFunc(cl.valued, func(k *key) bool { return k.rejects }) { // within a cell
		return cl.countSlots(p.soft, cs)
	}
	slots, known := p.remaining[string(cl.rejected)]
	if !known {
		slots = cl.countSlots(p.soft, cs)
		p.remaining[string(cl.rejected)] = slots
	}
	return slots
}

func (cl *Class) countSlots(s *podtopologyspread.Soft, cs []contender) int {
	var ofBase, ofOwn []bool // whether a bucket contends
	if cl.base != nil {
		ofBase = make([]bool, len(cl.base.buckets))
	}
	ofOwn = make([]bool, len(cl.own.buckets))
	for i := range cs {
		if c := &cs[i]; c.own {
			ofOwn[c.bucket] = cl.scored[c.cell]
		} else {
			ofBase[c.bucket] = cl.scored[c.cell]
		}
	}
	seen := make([]bool, s.Slots())
	slots := 0
	for n := range cl.board.all {
		contends := false
		if g := cl.own.bucketOf[n] - 1; g >= 0 {
			contends = ofOwn[g]
		} else if cl.live(uint32(n)) {
			contends = ofBase[cl.base.bucketOf[n]-1]
		}
		if slot := s.Slot(s.Column().Domain[n]); contends && !seen[slot] {
			seen[slot] = true
			slots++
		}
	}
	return slots
}
