package joint

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// cell is the nodes in the same domains of all keys that divide the nodes.
type cell struct {
	node    uint32  // one of the nodes, for its domains
	domains []int32 // by key; for a single key 1 if the nodes have it, 0 otherwise
	counted []bool  // by spread: whether the nodes' pods count
	takes   []bool  // by replicas: whether any node can take such a pod
	classes []class
}

// class is the nodes of a cell that all rules treat alike.
type class struct {
	id      int
	allowed []bool   // by replicas
	room    []int64  // by resource
	counts  []int64  // by spread: the pods that count, if the key is single
	met     []bool   // by terms: whether pods match, if the key is single
	excess  []int64  // by others, if the key is single
	nodes   []uint32 // the first, at most one for each pod of the group
}

// findCells divides the nodes that any pod can use into cells and classes.
func (m *model) findCells(order []uint32, usable nodeset.Set, allowed []nodeset.Set) {
	type inCell struct{ cell, class int }
	cells, ids, classes := make(map[string]int), make(map[string]int), make(map[inCell]int)
	var in cell
	var k class
	var b []byte
	for _, n := range order {
		if !usable.Has(n) {
			continue
		}
		m.setCell(&in, n)
		b = in.appendKey(b[:0])
		c := number(cells, b)
		if c == len(m.cells) {
			in.takes = make([]bool, len(m.replicas))
			m.cells = append(m.cells, in)
			in = cell{}
		}
		m.setClass(&k, n, allowed)
		b = k.appendKey(b[:0])
		k.id = number(ids, b)
		i, ok := classes[inCell{c, k.id}]
		if !ok {
			i = len(m.cells[c].classes)
			classes[inCell{c, k.id}] = i
			m.cells[c].add(k)
			k = class{}
		}
		if known := &m.cells[c].classes[i]; len(known.nodes) < m.pods {
			known.nodes = append(known.nodes, n)
		}
	}
}

// number returns the number of a key. Keys are numbered in order.
func number(numbers map[string]int, key []byte) int {
	n, ok := numbers[string(key)]
	if !ok {
		n = len(numbers)
		numbers[string(key)] = n
	}
	return n
}

func (m *model) setCell(c *cell, n uint32) {
	c.node, c.domains, c.counted = n, c.domains[:0], c.counted[:0]
	for i := range m.keys {
		c.domains = append(c.domains, m.keys[i].domain(n))
	}
	for i := range m.spread {
		c.counted = append(c.counted, m.spread[i].Counted.Has(n))
	}
}

func (c *cell) appendKey(b []byte) []byte {
	for _, d := range c.domains {
		b = binary.AppendUvarint(b, uint64(d))
	}
	return appendBits(b, c.counted)
}

func (c *cell) add(k class) {
	c.classes = append(c.classes, k)
	for r, allowed := range k.allowed {
		c.takes[r] = c.takes[r] || allowed
	}
}

func (m *model) setClass(k *class, n uint32, allowed []nodeset.Set) {
	*k = class{allowed: k.allowed[:0], room: k.room[:0], counts: k.counts[:0], met: k.met[:0], excess: k.excess[:0]}
	for r := range allowed {
		k.allowed = append(k.allowed, allowed[r].Has(n))
	}
	for i := range m.resources {
		x := &m.resources[i]
		k.room = append(k.room, x.usable(x.room(n)))
	}
	for i := range m.spread {
		counts := int64(0)
		if s := &m.spread[i]; m.keys[s.key].single {
			counts = s.Counts()[s.Column.Domain[n]]
		}
		k.counts = append(k.counts, counts)
	}
	for i := range m.terms {
		t := &m.terms[i]
		k.met = append(k.met, m.keys[t.key].single && t.Terms[t.at].MatchedWithout(n, 0))
	}
	for i := range m.others {
		excess := int64(0)
		if o := &m.others[i]; m.keys[o.key].single {
			excess = o.excess(n)
		}
		k.excess = append(k.excess, excess)
	}
}

func (k *class) appendKey(b []byte) []byte {
	b = appendBits(appendBits(b, k.allowed), k.met)
	for _, v := range k.room {
		b = binary.AppendVarint(b, v)
	}
	for _, v := range k.counts {
		b = binary.AppendVarint(b, v)
	}
	for _, v := range k.excess {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func appendBits(b []byte, bits []bool) []byte {
	for _, bit := range bits {
		b = append(b, byte(count(bit)))
	}
	return b
}

// findEquivalent finds the equivalent domains of a key: the rules on the key treat them alike, and they have equivalent
// nodes in equal domains of all other keys.
func (m *model) findEquivalent(at int) {
	k := &m.keys[at]
	parts := make([][]string, k.column.Len())
	k.cells = make([][]int, k.column.Len())
	for c := range m.cells {
		d := m.cells[c].domains[at]
		parts[d] = append(parts[d], m.cells[c].part(at))
		k.cells[d] = append(k.cells[d], c)
	}
	k.equivalent = make([]int, len(parts))
	numbers := make(map[string]int)
	var b []byte
	for d := range parts {
		b = append(b[:0], byte(count(d == topology.None)))
		for i := range m.spread {
			if s := &m.spread[i]; s.key == at {
				b = binary.AppendVarint(append(b, byte(count(s.Present()[d]))), s.Counts()[d])
			}
		}
		for i := range m.terms {
			if t := &m.terms[i]; t.key == at {
				b = append(b, byte(t.Terms[t.at].Level(int32(d))))
			}
		}
		for i := range m.others {
			if o := &m.others[i]; o.key == at && len(k.cells[d]) > 0 {
				b = binary.AppendVarint(b, o.excess(m.cells[k.cells[d][0]].node))
			}
		}
		slices.Sort(parts[d])
		for _, part := range parts[d] {
			b = append(b, part...)
		}
		k.equivalent[d] = number(numbers, b)
	}
}

// part returns bytes that are equal for cells with equivalent nodes in the same domains of all keys but one.
func (c *cell) part(but int) string {
	var b []byte
	for i, d := range c.domains {
		if i != but {
			b = binary.AppendUvarint(b, uint64(d))
		}
	}
	b = appendBits(b, c.counted)
	// The order of the classes does not matter.
	nodes := make([][2]int, len(c.classes))
	for i := range c.classes {
		nodes[i] = [2]int{c.classes[i].id, len(c.classes[i].nodes)}
	}
	slices.SortFunc(nodes, func(a, b [2]int) int { return a[0] - b[0] })
	b = binary.AppendUvarint(b, uint64(len(nodes)))
	for _, n := range nodes {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(n[0])), uint64(n[1]))
	}
	return string(b)
}

// findBound finds the bound of a constraint's minimum.
func (m *model) findBound(i int) {
	s := &m.spread[i]
	s.bound = math.MaxInt64
	if m.keys[s.key].single {
		return
	}
	reachable := make([]bool, s.Column.Len())
	for c := range m.cells {
		cell := &m.cells[c]
		for r, matches := range s.matches {
			if matches && cell.takes[r] && cell.counted[i] {
				reachable[cell.domains[s.key]] = true
			}
		}
	}
	for d, present := range s.Present() {
		if present && !reachable[d] {
			s.bound = min(s.bound, s.Counts()[d])
		}
	}
}
