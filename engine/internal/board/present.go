package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
)

// presence counts, for a soft constraint by value, the nodes that may take the pod.
type presence struct {
	soft  *podtopologyspread.Soft
	nodes []int32 // by slot
	slots int     // that have any
	// remaining is how many slots are left without the nodes of some cells, as long as no node is lost.
	remaining map[string]int
}

// countPresent counts, for soft constraints by value, the nodes of each slot.
func (t *Template) countPresent() {
	for i := range t.soft {
		if s := &t.softly[i]; t.soft[i].cells == nil && s.PerNode == nil {
			t.present = append(t.present, presence{soft: s, nodes: make([]int32, s.Slots()), remaining: make(map[string]int)})
		}
	}
	if t.present == nil {
		return
	}
	for n := range t.board.all {
		if !t.live(uint32(n)) || !t.scorable.Has(uint32(n)) {
			continue
		}
		for i := range t.present {
			p := &t.present[i]
			slot := p.soft.Slot(p.soft.Column().Domain[n])
			if p.nodes[slot]++; p.nodes[slot] == 1 {
				p.slots++
			}
		}
	}
}

// lose counts a node that cannot take the pod any more.
func (t *Template) lose(n uint32) {
	if t.present == nil || !t.scorable.Has(n) {
		return
	}
	for i := range t.present {
		p := &t.present[i]
		slot := p.soft.Slot(p.soft.Column().Domain[n])
		if p.nodes[slot]--; p.nodes[slot] == 0 {
			p.slots--
		}
		clear(p.remaining)
	}
}

// refusedByValue reports whether of the groups of a cell some may be refused and others not.
func (t *Template) refusedByValue() bool {
	return t.togetherAt != noValue || slices.ContainsFunc(t.hard, func(k key) bool { return k.cells == nil })
}

// slotsOf counts the slots of a constraint that have contending nodes.
func (t *Template) slotsOf(p *presence, cs []contender) int {
	if t.refusedByValue() {
		return t.countSlots(p.soft, cs)
	}
	slots, known := p.remaining[string(t.refused)]
	if !known {
		slots = t.countSlots(p.soft, cs)
		p.remaining[string(t.refused)] = slots
	}
	return slots
}

func (t *Template) countSlots(s *podtopologyspread.Soft, cs []contender) int {
	var ofBase, ofOwn []bool // whether a group contends
	if t.base != nil {
		ofBase = make([]bool, len(t.base.groups))
	}
	ofOwn = make([]bool, len(t.own.groups))
	for i := range cs {
		if c := &cs[i]; c.own {
			ofOwn[c.group] = t.scored[c.cell]
		} else {
			ofBase[c.group] = t.scored[c.cell]
		}
	}
	seen := make([]bool, s.Slots())
	slots := 0
	for n := range t.board.all {
		contends := false
		if g := t.own.where[n] - 1; g >= 0 {
			contends = ofOwn[g]
		} else if t.live(uint32(n)) {
			contends = ofBase[t.base.where[n]-1]
		}
		if slot := s.Slot(s.Column().Domain[n]); contends && !seen[slot] {
			seen[slot] = true
			slots++
		}
	}
	return slots
}
