package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/imagelocality"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// divide divides the nodes into cells. Nodes of a cell share everything that cells are divided by.
func (cl *Class) divide() *partition {
	b, c := cl.board, cl.cycle
	cells := b.whole
	by := func(column *topology.Column) key {
		if column != nil && b.lowCardinality(column.Len(), len(b.all)) {
			cells = b.divide(cells, column.Domain, column.Len())
		}
		return key{column: column}
	}
	for _, r := range cl.rules.Spread {
		cl.spreadKeys = append(cl.spreadKeys, by(r.Column))
	}
	for i := range cl.soft {
		if s := &cl.soft[i]; s.PerNode != nil {
			cl.softKeys = append(cl.softKeys, key{column: s.Column()})
		} else {
			cl.softKeys = append(cl.softKeys, by(s.Column()))
		}
	}
	for _, term := range cl.terms {
		cl.affinityKeys = append(cl.affinityKeys, by(term.Column))
	}
	for _, e := range cl.rules.Exclusions {
		cl.exclusionKeys = append(cl.exclusionKeys, by(e.Column))
	}
	for i := range cl.preferred.Tallies {
		cl.preferredKeys = append(cl.preferredKeys, by(cl.preferred.Tallies[i].Column))
	}
	// static divides by a score that never changes, and returns the score; nil if all nodes have the same.
	static := func(scores []int64) []int64 {
		if scores == nil {
			return nil
		}
		numbers, limit := dense(scores)
		if numbers == nil {
			return nil
		}
		cells = b.divide(cells, numbers, limit)
		return slices.Clone(scores)
	}
	untolerated := tainttoleration.UntoleratedPreferences(c)
	taints := static(byNode(c, untolerated))
	affinity := static(nodeaffinity.Weights(c, b.all))
	images := static(imagelocality.ByNode(c))
	if len(cl.softKeys) > 0 && !cl.scorable.Full(len(b.all)) {
		scored := make([]int32, len(b.all))
		for n := range cl.scorable.All() {
			scored[n] = 1
		}
		cells = b.divide(cells, scored, 2)
	}
	cl.rejected = make([]byte, len(cells.first))
	cl.taints, cl.affinity, cl.images = byCell(cells, taints), byCell(cells, affinity), byCell(cells, images)
	for _, n := range cells.first {
		cl.scored = append(cl.scored, cl.scorable.Has(n))
	}
	domains := make(map[*topology.Column][]int32)
	for _, keys := range [][]key{cl.spreadKeys, cl.softKeys, cl.affinityKeys, cl.exclusionKeys, cl.preferredKeys} {
		for i := range keys {
			k := &keys[i]
			if k.column == nil || !b.lowCardinality(k.column.Len(), len(b.all)) {
				continue
			}
			of := domains[k.column]
			if of == nil {
				for _, n := range cells.first {
					of = append(of, k.column.Domain[n])
				}
				domains[k.column] = of
			}
			k.cells = of
		}
	}
	for i := range cl.soft {
		if cl.soft[i].PerNode != nil {
			cl.softKeys[i].cells = nil
		}
	}
	return cells
}

// byCell returns values that all nodes of a cell share, by cell.
func byCell(cells *partition, values []int64) []int64 {
	if values == nil {
		return nil
	}
	of := make([]int64, len(cells.first))
	for i, n := range cells.first {
		of[i] = values[n]
	}
	return of
}

// byNode returns the number of untolerated taints by node; nil if all are equal.
func byNode(c *plugin.Cycle, byClass []int64) []int64 {
	equal := true
	for _, v := range byClass {
		equal = equal && v == byClass[0]
	}
	if equal {
		return nil
	}
	values := make([]int64, c.State.Len())
	for n, class := range c.State.Taints.Class {
		values[n] = byClass[class]
	}
	return values
}
