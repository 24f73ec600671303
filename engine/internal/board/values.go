package board

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// numberValues assigns values of buckets to the keys without cells, and returns the number of values.
func (cl *Class) numberValues() int {
	width := 0
	next := func(usual int64) int {
		width++
		cl.usual = append(cl.usual, usual)
		return width - 1
	}
	for _, keys := range [][]key{cl.spreadKeys, cl.softKeys} {
		for i := range keys {
			if keys[i].cells == nil {
				keys[i].value = next(0)
			}
		}
	}
	cl.affinityAt, cl.preferredAt = noValue, noValue
	for i := range cl.affinityKeys {
		if cl.affinityKeys[i].cells == nil && cl.affinityAt == noValue {
			cl.affinityAt = next(int64(rule.WithKey))
		}
	}
	for i := range cl.preferredKeys {
		if cl.preferredKeys[i].cells == nil && cl.preferredAt == noValue {
			cl.preferredAt = next(0)
		}
	}
	return width
}

// valuesOf computes the values of a node.
func (cl *Class) valuesOf(n uint32, to []int64) {
	for i := range cl.spreadKeys {
		if k := &cl.spreadKeys[i]; k.cells == nil {
			to[k.value] = cl.rules.Spread[i].Counts()[k.column.Domain[n]]
		}
	}
	for i := range cl.softKeys {
		k, s := &cl.softKeys[i], &cl.soft[i]
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
	if cl.affinityAt != noValue {
		level := rule.WithMatch
		for i := range cl.affinityKeys {
			if k := &cl.affinityKeys[i]; k.cells == nil {
				level = min(level, cl.terms[i].Level(k.column.Domain[n]))
			}
		}
		to[cl.affinityAt] = int64(level)
	}
	if cl.preferredAt != noValue {
		to[cl.preferredAt] = 0
		for i := range cl.preferredKeys {
			if k := &cl.preferredKeys[i]; k.cells == nil {
				to[cl.preferredAt] += cl.preferred.Tallies[i].ByDomain[k.column.Domain[n]]
			}
		}
	}
}

// unusual returns the nodes whose values may differ from the usual ones.
func (cl *Class) unusual() nodeset.Set {
	nodes := nodeset.New(len(cl.board.all))
	count := func(k *key, byDomain []int64) {
		if k.cells == nil {
			nodes.Or(nodesIn(k.column, byDomain))
		}
	}
	lacking := func(k *key) {
		if k.cells == nil && !k.column.Having.Full(len(cl.board.all)) {
			nodes.Or(nodeset.Full(len(cl.board.all)).Minus(k.column.Having))
		}
	}
	for i := range cl.spreadKeys {
		count(&cl.spreadKeys[i], cl.rules.Spread[i].Counts())
	}
	for i := range cl.softKeys {
		lacking(&cl.softKeys[i])
		if s := &cl.soft[i]; s.PerNode != nil {
			for n, count := range s.PerNode {
				if count != 0 {
					nodes.Add(uint32(n))
				}
			}
		} else {
			count(&cl.softKeys[i], s.Counts())
		}
	}
	for i := range cl.affinityKeys {
		lacking(&cl.affinityKeys[i])
		count(&cl.affinityKeys[i], cl.terms[i].Counts)
	}
	for i := range cl.preferredKeys {
		count(&cl.preferredKeys[i], cl.preferred.Tallies[i].ByDomain)
	}
	return nodes
}

// occupied returns the nodes that exclusions without cells reject.
func (cl *Class) occupied() nodeset.Set {
	nodes := nodeset.New(len(cl.board.all))
	for i := range cl.exclusionKeys {
		if k := &cl.exclusionKeys[i]; k.cells == nil {
			nodes.Or(nodesIn(k.column, cl.rules.Exclusions[i].Counts()))
		}
	}
	return nodes
}

// nodesIn returns the nodes of the domains with a count.
func nodesIn(column *topology.Column, byDomain []int64) nodeset.Set {
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
