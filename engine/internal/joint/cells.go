package joint

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// cell is the nodes that are in the same domains.
type cell struct {
	domains []int32 // by key; with a single one 1 if the nodes have it, 0 otherwise
	counted []bool  // by evens: whether the nodes' pods count
	takes   []bool  // by replicas: whether any node can take such a pod
	classes []class
}

// class is the nodes of a cell that no rule tells apart.
type class struct {
	id      int
	allowed []bool  // by replicas
	room    []int64 // by resource
	counts  []int64 // by evens of single keys: the pods that count
	met     []bool  // by withs of single keys: whether pods are there that the terms match
	nodes   []uint32
}

// findCells divides the nodes that any pod may go to into cells and classes.
func (m *model) findCells(order []uint32, anyOne nodeset.Set, allowed []nodeset.Set) {
	cells := make(map[string]int)
	type inCell struct{ cell, class int }
	classes := make(map[inCell]int)
	ids := make(map[string]int)
	var at, b []byte
	for _, n := range order {
		if !anyOne.Has(n) {
			continue
		}
		at = m.appendCell(at[:0], n)
		c, ok := cells[string(at)]
		if !ok {
			c = len(m.cells)
			cells[string(at)] = c
			m.cells = append(m.cells, m.cell(n))
		}
		in := &m.cells[c]
		k := m.class(n, allowed)
		b = k.appendKey(b[:0])
		id, ok := ids[string(b)]
		if !ok {
			id = len(ids)
			ids[string(b)] = id
		}
		i, ok := classes[inCell{c, id}]
		if !ok {
			i = len(in.classes)
			classes[inCell{c, id}] = i
			k.id = id
			in.classes = append(in.classes, k)
			for r, yes := range k.allowed {
				in.takes[r] = in.takes[r] || yes
			}
		}
		if known := &in.classes[i]; len(known.nodes) < m.g.pods {
			known.nodes = append(known.nodes, n)
		}
	}
}

func (m *model) appendCell(b []byte, n uint32) []byte {
	for i := range m.keys {
		b = binary.AppendUvarint(b, uint64(m.keys[i].domain(n)))
	}
	for i := range m.evens {
		b = append(b, bit(m.evens[i].Counted.Has(n)))
	}
	return b
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func (m *model) cell(n uint32) cell {
	c := cell{takes: make([]bool, len(m.g.replicas))}
	for i := range m.keys {
		c.domains = append(c.domains, m.keys[i].domain(n))
	}
	for i := range m.evens {
		c.counted = append(c.counted, m.evens[i].Counted.Has(n))
	}
	return c
}

func (m *model) class(n uint32, allowed []nodeset.Set) class {
	k := class{
		allowed: make([]bool, len(allowed)),
		room:    make([]int64, len(m.resources)),
		counts:  make([]int64, len(m.evens)),
		met:     make([]bool, len(m.withs)),
	}
	for r := range allowed {
		k.allowed[r] = allowed[r].Has(n)
	}
	for i := range m.resources {
		x := &m.resources[i]
		k.room[i] = x.usable(x.room(n))
	}
	for i := range m.evens {
		if e := &m.evens[i]; m.keys[e.key].single {
			k.counts[i] = e.Counts()[e.Column.Domain[n]]
		}
	}
	for i := range m.withs {
		if w := &m.withs[i]; m.keys[w.key].single {
			k.met[i] = w.inhabited[w.column.Domain[n]]
		}
	}
	return k
}

func (k *class) appendKey(b []byte) []byte {
	for _, v := range k.allowed {
		b = append(b, bit(v))
	}
	for _, v := range k.room {
		b = binary.AppendVarint(b, v)
	}
	for _, v := range k.counts {
		b = binary.AppendVarint(b, v)
	}
	for _, v := range k.met {
		b = append(b, bit(v))
	}
	return b
}

// findAlike finds the domains of a key that can be swapped: they mean the same to the rules on the key, and have equal
// nodes in equal domains of all other keys.
func (m *model) findAlike(at int) {
	k := &m.keys[at]
	parts := make([][]string, k.column.Len())
	k.cells = make([][]int, k.column.Len())
	var b []byte
	for c := range m.cells {
		in := &m.cells[c]
		b = b[:0]
		for i, d := range in.domains {
			if i != at {
				b = binary.AppendUvarint(b, uint64(d))
			}
		}
		for _, counted := range in.counted {
			b = append(b, bit(counted))
		}
		// The order of the classes does not matter.
		nodes := make([][2]int, len(in.classes))
		for i := range in.classes {
			nodes[i] = [2]int{in.classes[i].id, len(in.classes[i].nodes)}
		}
		slices.SortFunc(nodes, func(a, b [2]int) int { return a[0] - b[0] })
		b = binary.AppendUvarint(b, uint64(len(nodes)))
		for _, n := range nodes {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(n[0])), uint64(n[1]))
		}
		d := in.domains[at]
		parts[d] = append(parts[d], string(b))
		k.cells[d] = append(k.cells[d], c)
	}
	k.alike = make([]int32, len(parts))
	numbers := make(map[string]int32)
	for d := range parts {
		b = binary.AppendUvarint(b[:0], uint64(bit(d == topology.None)))
		for i := range m.evens {
			if e := &m.evens[i]; e.key == at {
				b = binary.AppendVarint(append(b, bit(e.Present()[d])), e.Counts()[d])
			}
		}
		for i := range m.withs {
			if w := &m.withs[i]; w.key == at {
				b = append(b, bit(w.inhabited[d]))
			}
		}
		slices.Sort(parts[d])
		for _, part := range parts[d] {
			b = append(b, part...)
		}
		number, ok := numbers[string(b)]
		if !ok {
			number = int32(len(numbers))
			numbers[string(b)] = number
		}
		k.alike[d] = number
	}
}

// findFrozen finds the bounds of constraints' minimums that no pod of the group can raise.
func (m *model) findFrozen() {
	for i := range m.evens {
		e := &m.evens[i]
		if m.keys[e.key].single || e.Floor() {
			continue
		}
		reachable := make([]bool, e.Column.Len())
		for c := range m.cells {
			cell := &m.cells[c]
			for r, matches := range e.matches {
				if matches && cell.takes[r] && cell.counted[i] {
					reachable[cell.domains[e.key]] = true
				}
			}
		}
		e.frozen = -1
		for d, present := range e.Present() {
			if present && !reachable[d] && (e.frozen < 0 || e.Counts()[d] < e.frozen) {
				e.frozen = e.Counts()[d]
			}
		}
	}
}
