package board

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// index is nodes in groups. Templates that group the same nodes in the same way share one.
type index struct {
	board     *Board
	resources *resources
	cells     *partition
	groups    []group
	active    []int32 // the groups that have nodes
	where     []int32 // by node: its group plus one, 0 if it is in none
	// filled and risen are how much of the lists of resources has been taken in.
	filled, risen int

	// width is how many values groups differ in besides the cell: values[g*width:] are those of group g.
	width   int
	values  []int64
	byValue map[string]int32 // groups by cell and values
	hint    []int32          // by cell: the group last looked up plus one
	key     []byte

	frontier []place // of bestBut
}

type group struct {
	cell int32
	live int32 // nodes
	at   int32 // place in active
	// heap holds an entry at least as high as its due for each of the nodes, besides outdated ones.
	heap []uint64
}

// newIndex puts those of some nodes that have room into groups. value tells the values of a node.
func newIndex(b *Board, r *resources, cells *partition, nodes []uint32, width int, value func(n uint32, to []int64)) *index {
	x := &index{
		board: b, resources: r, cells: cells,
		where:  make([]int32, len(b.all)),
		filled: len(r.filled), risen: len(r.risen),
		width: width,
		hint:  make([]int32, len(cells.first)),
	}
	if width > 0 {
		x.byValue = make(map[string]int32)
	}
	values := make([]int64, width)
	total := 0
	for _, n := range nodes {
		if r.score[n] == full {
			continue
		}
		if width > 0 {
			value(n, values)
		}
		cell := cells.cell[n]
		g := x.hint[cell] - 1
		if width > 0 || g < 0 {
			g = x.group(cell, values)
		}
		x.where[n] = g + 1
		x.groups[g].live++
		total++
	}
	entries := make([]uint64, total)
	for i := range x.groups {
		g := &x.groups[i]
		g.heap, entries = entries[:0:g.live], entries[g.live:]
		g.at = int32(i)
		x.active = append(x.active, int32(i))
	}
	for _, n := range nodes {
		if g := x.where[n] - 1; g >= 0 {
			x.groups[g].heap = append(x.groups[g].heap, x.entry(n))
		}
	}
	for i := range x.groups {
		heapify(x.groups[i].heap)
	}
	return x
}

// entry returns a node's entry in a heap: its resource score, then its place in the order of ties, the first highest.
func (x *index) entry(n uint32) uint64 {
	return uint64(x.resources.score[n])<<32 | uint64(^x.board.rankOf(n))
}

// group returns the group of a cell and values, a new one if there is none.
func (x *index) group(cell int32, values []int64) int32 {
	if g := x.hint[cell] - 1; g >= 0 && slices.Equal(x.valuesOf(g), values) {
		return g
	}
	if x.width == 0 {
		g := x.add(cell, values)
		x.hint[cell] = g + 1
		return g
	}
	x.key = binary.LittleEndian.AppendUint32(x.key[:0], uint32(cell))
	for _, v := range values {
		x.key = binary.LittleEndian.AppendUint64(x.key, uint64(v))
	}
	g, ok := x.byValue[string(x.key)]
	if !ok {
		g = x.add(cell, values)
		x.byValue[string(x.key)] = g
	}
	x.hint[cell] = g + 1
	return g
}

func (x *index) add(cell int32, values []int64) int32 {
	x.groups = append(x.groups, group{cell: cell})
	x.values = append(x.values, values...)
	return int32(len(x.groups) - 1)
}

// valuesOf returns the values of a group.
func (x *index) valuesOf(g int32) []int64 { return x.values[int(g)*x.width : int(g+1)*x.width] }

// catchUp takes in what became of resources, and returns the nodes that became full.
func (x *index) catchUp() (filled []uint32) {
	filled = x.resources.filled[x.filled:]
	x.filled += len(filled)
	for _, n := range filled {
		x.drop(n)
	}
	for ; x.risen < len(x.resources.risen); x.risen++ {
		n := x.resources.risen[x.risen]
		if g := x.where[n] - 1; g >= 0 {
			x.enter(g, n)
		}
	}
	return filled
}

// drop takes out a node.
func (x *index) drop(n uint32) {
	if g := x.where[n] - 1; g >= 0 {
		x.leave(g)
		x.where[n] = 0
	}
}

// move puts a node into the group of its cell and values, wherever it was before.
func (x *index) move(n uint32, values []int64) {
	if from := x.where[n] - 1; from >= 0 {
		if slices.Equal(x.valuesOf(from), values) {
			return
		}
		x.leave(from)
	}
	to := x.group(x.cells.cell[n], values)
	x.where[n] = to + 1
	g := &x.groups[to]
	if g.live++; g.live == 1 {
		g.at = int32(len(x.active))
		x.active = append(x.active, to)
	}
	x.enter(to, n)
}

// leave makes a group have a node less.
func (x *index) leave(i int32) {
	g := &x.groups[i]
	if g.live--; g.live > 0 {
		return
	}
	g.heap = g.heap[:0]
	last := x.active[len(x.active)-1]
	x.active[g.at], x.groups[last].at = last, g.at
	x.active = x.active[:len(x.active)-1]
}

func (x *index) enter(g int32, n uint32) {
	h := append(x.groups[g].heap, x.entry(n))
	x.groups[g].heap = h
	up(h, len(h)-1)
}

// settle makes the top of a group's heap its best node's entry, and returns it.
func (x *index) settle(i int32) uint64 {
	g := &x.groups[i]
	for {
		top := g.heap[0]
		n := x.board.nodeOf(^uint32(top))
		if x.where[n] != i+1 {
			last := len(g.heap) - 1
			g.heap[0] = g.heap[last]
			g.heap = g.heap[:last]
		} else if now := x.entry(n); now != top {
			g.heap[0] = now
		} else {
			return top
		}
		down(g.heap, 0)
	}
}

// place is a place in a heap and the entry there, or, without a place, the entry that is due to a node.
type place struct {
	entry uint64
	at    int
}

// bestBut returns the entry of a group's best node out of those that are not in left, of which there must be one, and
// how many entries were looked at in vain.
func (x *index) bestBut(i int32, left nodeset.Set) (entry uint64, vain int) {
	x.settle(i)
	h := x.groups[i].heap
	if !left.Has(x.board.nodeOf(^uint32(h[0]))) {
		return h[0], 0
	}
	f := x.frontier[:0]
	push := func(p place) {
		f = append(f, p)
		at := len(f) - 1
		for at > 0 && f[(at-1)/2].entry < p.entry {
			f[at] = f[(at-1)/2]
			at = (at - 1) / 2
		}
		f[at] = p
	}
	below := func(at int) {
		for child := 2*at + 1; child <= 2*at+2 && child < len(h); child++ {
			push(place{h[child], child})
		}
	}
	pop := func() place {
		top, last := f[0], f[len(f)-1]
		f = f[:len(f)-1]
		at := 0
		for child := 1; child < len(f); child = 2*at + 1 {
			if child+1 < len(f) && f[child+1].entry > f[child].entry {
				child++
			}
			if f[child].entry <= last.entry {
				break
			}
			f[at] = f[child]
			at = child
		}
		if len(f) > 0 {
			f[at] = last
		}
		return top
	}
	const due = -1
	below(0)
	for {
		p := pop()
		if p.at == due {
			x.frontier = f
			return p.entry, vain
		}
		vain++
		below(p.at)
		if n := x.board.nodeOf(^uint32(p.entry)); x.where[n] == i+1 && !left.Has(n) {
			push(place{x.entry(n), due})
		}
	}
}
