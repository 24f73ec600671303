package placing

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/nodeset"
)

// index is nodes in groups. Templates that group the same nodes in the same way share one.
type index struct {
	board     *Board
	resources *resources
	cells     *partition
	groups    []group
	active    []int32 // the groups that have nodes
	where     []int32 // by node: its group; nowhere if it cannot take the pod any more
	// filled and risen are how much of the lists of resources has been taken in.
	filled, risen int

	// width is how many values groups differ in besides the cell: values[g*width:] are those of group g.
	width   int
	values  []int64
	byValue map[string]int32 // groups by cell and values
	hint    []int32          // by cell: the group last looked up
	key     []byte

	// lost is told of nodes that cannot take the pod any more; nil if nobody wants to know.
	lost func(n uint32)
}

const nowhere = -1

type group struct {
	cell int32
	live int32 // nodes
	at   int32 // place in active
	// heap holds an entry at least as high as its due for each of the nodes, besides outdated ones.
	heap []uint64
}

// newIndex puts the nodes of a set that have room into groups. value tells the values of a node.
func newIndex(b *Board, r *resources, cells *partition, nodes nodeset.Set, width int, value func(n uint32, to []int64)) *index {
	x := &index{
		board: b, resources: r, cells: cells,
		where:  make([]int32, len(b.all)),
		filled: len(r.filled), risen: len(r.risen),
		width: width,
		hint:  make([]int32, len(cells.first)),
	}
	for i := range x.hint {
		x.hint[i] = nowhere
	}
	for i := range x.where {
		x.where[i] = nowhere
	}
	if width > 0 {
		x.byValue = make(map[string]int32)
	}
	values := make([]int64, width)
	total := 0
	for n := range nodes.All() {
		if r.score[n] == full {
			continue
		}
		if width > 0 {
			value(n, values)
		}
		g := x.group(cells.cell[n], values)
		x.where[n] = g
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
	for n := range nodes.All() {
		if g := x.where[n]; g != nowhere {
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
	if g := x.hint[cell]; g != nowhere && slices.Equal(x.valuesOf(g), values) {
		return g
	}
	if x.width == 0 {
		x.hint[cell] = x.add(cell, values)
		return x.hint[cell]
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
	x.hint[cell] = g
	return g
}

func (x *index) add(cell int32, values []int64) int32 {
	x.groups = append(x.groups, group{cell: cell})
	x.values = append(x.values, values...)
	return int32(len(x.groups) - 1)
}

// valuesOf returns the values of a group.
func (x *index) valuesOf(g int32) []int64 { return x.values[int(g)*x.width : int(g+1)*x.width] }

// catchUp takes in what became of resources.
func (x *index) catchUp() {
	for ; x.filled < len(x.resources.filled); x.filled++ {
		x.drop(x.resources.filled[x.filled])
	}
	for ; x.risen < len(x.resources.risen); x.risen++ {
		n := x.resources.risen[x.risen]
		if g := x.where[n]; g != nowhere {
			x.enter(g, n)
		}
	}
}

// drop takes out a node that cannot take the pod any more.
func (x *index) drop(n uint32) {
	g := x.where[n]
	if g == nowhere {
		return
	}
	x.leave(g)
	x.where[n] = nowhere
	if x.lost != nil {
		x.lost(n)
	}
}

// move puts a node into the group that its values are those of now.
func (x *index) move(n uint32, values []int64) {
	from := x.where[n]
	if from == nowhere || slices.Equal(x.valuesOf(from), values) {
		return
	}
	to := x.group(x.groups[from].cell, values)
	x.leave(from)
	x.where[n] = to
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

// settle makes the top of a group's heap its best node's entry, and reports whether it was.
func (x *index) settle(i int32) bool {
	g := &x.groups[i]
	for settled := true; ; settled = false {
		top := g.heap[0]
		n := x.board.nodeOf(^uint32(top))
		if x.where[n] != i {
			last := len(g.heap) - 1
			g.heap[0] = g.heap[last]
			g.heap = g.heap[:last]
		} else if now := x.entry(n); now != top {
			g.heap[0] = now
		} else {
			return settled
		}
		down(g.heap, 0)
	}
}
