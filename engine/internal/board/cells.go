package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/imagelocality"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// divide divides the nodes into cells by all that is the same for the nodes of a cell.
func (t *Template) divide() *partition {
	b, c := t.board, t.cycle
	cells := b.whole
	by := func(column *topology.Column) key {
		if column != nil && b.few(column.Len(), len(b.all)) {
			cells = b.divide(cells, column.Domain, column.Len())
		}
		return key{column: column}
	}
	for _, r := range t.rules.Spread {
		t.hard = append(t.hard, by(r.Column))
	}
	for i := range t.softly {
		if s := &t.softly[i]; s.PerNode != nil {
			t.soft = append(t.soft, key{column: s.Column()})
		} else {
			t.soft = append(t.soft, by(s.Column()))
		}
	}
	for _, term := range t.terms {
		t.together = append(t.together, by(term.Column))
	}
	for _, e := range t.rules.Exclusions {
		t.apart = append(t.apart, by(e.Column))
	}
	for i := range t.preferred.Tallies {
		t.wishes = append(t.wishes, by(t.preferred.Tallies[i].Column))
	}
	// static divides by a score that never changes, and returns it; nil if it is the same for all nodes.
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
	if len(t.soft) > 0 && !t.scorable.Full(len(b.all)) {
		scored := make([]int32, len(b.all))
		for n := range t.scorable.All() {
			scored[n] = 1
		}
		cells = b.divide(cells, scored, 2)
	}
	t.refused = make([]byte, len(cells.first))
	t.taints, t.affinity, t.images = byCell(cells, taints), byCell(cells, affinity), byCell(cells, images)
	for _, n := range cells.first {
		t.scored = append(t.scored, t.scorable.Has(n))
	}
	domains := make(map[*topology.Column][]int32)
	for _, keys := range [][]key{t.hard, t.soft, t.together, t.apart, t.wishes} {
		for i := range keys {
			k := &keys[i]
			if k.column == nil || !b.few(k.column.Len(), len(b.all)) {
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
	for i := range t.softly {
		if t.softly[i].PerNode != nil {
			t.soft[i].cells = nil
		}
	}
	return cells
}

// byCell returns the cells' values of what is the same for the nodes of a cell.
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

// byNode returns the nodes' numbers of taints; nil if all are equal.
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
