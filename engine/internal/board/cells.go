package board

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin/imagelocality"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
)

// divide divides the nodes into cells.
func (cl *Class) divide() *partition {
	b, c := cl.board, cl.cycle
	cells := b.whole
	for i := range cl.keys {
		if k := &cl.keys[i]; b.dividesBy(k) {
			cells = b.divide(cells, k.column.Domain, k.column.Len())
		}
	}
	// static divides the nodes by a score that pods do not change, and returns the score; nil if all scores are equal.
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
	var taints []int64
	if untolerated := tainttoleration.UntoleratedPreferences(c); slices.Max(untolerated) > 0 {
		number := c.State.TaintNumbers()
		for n := range uint32(c.State.Len()) {
			taints = append(taints, untolerated[number(n)])
		}
		taints = static(taints)
	}
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
	for i := range cl.keys {
		switch k := &cl.keys[i]; {
		case b.dividesBy(k):
			for _, n := range cells.first {
				k.cells = append(k.cells, k.column.Domain[n])
			}
		case !k.removes:
			k.at = len(cl.valued)
			cl.valued, cl.usual = append(cl.valued, k), append(cl.usual, k.usual)
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
