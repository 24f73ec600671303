package board

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// numberValues gives values of groups to what is told apart by value, and returns how many there are.
func (t *Template) numberValues() int {
	width := 0
	next := func(usual int64) int {
		width++
		t.usual = append(t.usual, usual)
		return width - 1
	}
	for _, keys := range [][]key{t.hard, t.soft} {
		for i := range keys {
			if keys[i].cells == nil {
				keys[i].value = next(0)
			}
		}
	}
	t.togetherAt, t.wishesAt = noValue, noValue
	for i := range t.together {
		if t.together[i].cells == nil && t.togetherAt == noValue {
			t.togetherAt = next(int64(rule.WithKey))
		}
	}
	for i := range t.wishes {
		if t.wishes[i].cells == nil && t.wishesAt == noValue {
			t.wishesAt = next(0)
		}
	}
	return width
}

// valuesOf tells the values that groups are told apart by.
func (t *Template) valuesOf(n uint32, to []int64) {
	for i := range t.hard {
		if k := &t.hard[i]; k.cells == nil {
			to[k.value] = t.rules.Spread[i].Counts()[k.column.Domain[n]]
		}
	}
	for i := range t.soft {
		k, s := &t.soft[i], &t.softly[i]
		switch d := k.column.Domain[n]; {
		case k.cells != nil:
		case d == topology.None:
			to[k.value] = -1
		case s.PerNode != nil:
			to[k.value] = s.PerNode[n]
		default:
			to[k.value] = s.Count(d)
		}
	}
	if t.togetherAt != noValue {
		level := rule.WithMatch
		for i := range t.together {
			if k := &t.together[i]; k.cells == nil {
				level = min(level, t.terms[i].Level(k.column.Domain[n]))
			}
		}
		to[t.togetherAt] = int64(level)
	}
	if t.wishesAt != noValue {
		to[t.wishesAt] = 0
		for i := range t.wishes {
			if k := &t.wishes[i]; k.cells == nil {
				to[t.wishesAt] += t.preferred.Tallies[i].ByDomain[k.column.Domain[n]]
			}
		}
	}
}

// unusual returns the nodes that may have other values than the usual ones.
func (t *Template) unusual() nodeset.Set {
	nodes := nodeset.New(len(t.board.all))
	count := func(k *key, byDomain []int64) {
		if k.cells == nil {
			nodes.Or(where(k.column, byDomain))
		}
	}
	lacking := func(k *key) {
		if k.cells == nil && !k.column.Having.Full(len(t.board.all)) {
			nodes.Or(nodeset.Full(len(t.board.all)).Minus(k.column.Having))
		}
	}
	for i := range t.hard {
		count(&t.hard[i], t.rules.Spread[i].Counts())
	}
	for i := range t.soft {
		lacking(&t.soft[i])
		if s := &t.softly[i]; s.PerNode != nil {
			for n, count := range s.PerNode {
				if count != 0 {
					nodes.Add(uint32(n))
				}
			}
		} else {
			count(&t.soft[i], s.Counts())
		}
	}
	for i := range t.together {
		lacking(&t.together[i])
		count(&t.together[i], t.terms[i].Counts)
	}
	for i := range t.wishes {
		count(&t.wishes[i], t.preferred.Tallies[i].ByDomain)
	}
	return nodes
}

// occupied returns the nodes in domains, told apart by value, that the pod must stay out of.
func (t *Template) occupied() nodeset.Set {
	nodes := nodeset.New(len(t.board.all))
	for i := range t.apart {
		if k := &t.apart[i]; k.cells == nil {
			nodes.Or(where(k.column, t.rules.Exclusions[i].Counts()))
		}
	}
	return nodes
}

// where returns the nodes of the domains that have a count.
func where(column *topology.Column, byDomain []int64) nodeset.Set {
	table := make([]uint8, len(byDomain))
	for d, count := range byDomain {
		if count != 0 {
			table[d] = 1
		}
	}
	if column == nil {
		return nodeset.OfTable(table)
	}
	return column.Where(table)
}
