package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// remove takes nodes away; those behind them move up.
func (e *edit) remove(nodes []uint32) {
	c := e.c
	e.moved, e.renumbered = true, true
	c.Names, c.nameIDs = without(c.Names, nodes), without(c.nameIDs, nodes)
	c.kindOf, c.rows = without(c.kindOf, nodes), without(c.rows, nodes)
	c.Taints.Class = without(c.Taints.Class, nodes)
	e.own.rows, e.own.names = true, true
	cordoned := make([]uint32, 0, c.Unschedulable.Len())
	now := make([]uint32, len(c.rows)+len(nodes)) // index by index before
	for i, next, gone := uint32(0), uint32(0), nodes; int(i) < len(now); i++ {
		if len(gone) > 0 && gone[0] == i {
			now[i], gone = noNode, gone[1:]
			continue
		}
		if now[i] = next; c.Unschedulable.Has(i) {
			cordoned = append(cordoned, next)
		}
		next++
	}
	c.Unschedulable = nodeset.Of(len(c.rows), cordoned)
	e.ownResources()
	for _, column := range c.resources.columns() {
		*column = without(*column, nodes)
	}
	for resource := range c.resources.Scalars {
		s := e.scalar(resource)
		kept := s.Nodes[:0]
		for j, node := range s.Nodes {
			if i := now[node]; i != noNode {
				s.Allocatable[len(kept)], s.Requested[len(kept)] = s.Allocatable[j], s.Requested[j]
				kept = append(kept, i)
			}
		}
		s.Nodes, s.Allocatable, s.Requested = kept, s.Allocatable[:len(kept)], s.Requested[:len(kept)]
	}
	for name, m := range c.images {
		if len(m.nodes) == 0 {
			continue
		}
		m = e.image(name)
		kept := m.nodes[:0]
		for j, node := range m.nodes {
			if i := now[node]; i != noNode {
				m.sizes[len(kept)] = m.sizes[j]
				kept = append(kept, i)
			}
		}
		m.nodes, m.sizes = kept, m.sizes[:len(kept)]
	}
}

// without returns a copy of a column without some nodes, ascending.
func without[T any](column []T, nodes []uint32) []T {
	out := make([]T, 0, len(column)-len(nodes))
	from := uint32(0)
	for _, n := range nodes {
		out = append(out, column[from:n]...)
		from = n + 1
	}
	return append(out, column[from:]...)
}

// ownNodes makes appending to the columns leave the base alone.
func (e *edit) ownNodes() {
	c := e.c
	e.moved = true
	c.Names, c.nameIDs, c.kindOf = slices.Clip(c.Names), slices.Clip(c.nameIDs), slices.Clip(c.kindOf)
	c.rows, c.Taints.Class = slices.Clip(c.rows), slices.Clip(c.Taints.Class)
	c.Unschedulable = c.Unschedulable.Clone()
	e.ownResources()
	for _, column := range c.resources.columns() {
		*column = slices.Clip(*column)
	}
}

// add appends the draft.
func (e *edit) add() {
	for _, s := range e.draft.scalars {
		e.scalar(s.resource)
	}
	for _, m := range e.draft.images {
		e.image(m.name)
	}
	for _, p := range e.draft.row.pods {
		e.recounts = append(e.recounts, recount{p.group, uint32(e.c.Len()), p.count})
	}
	e.append(&e.draft)
}
