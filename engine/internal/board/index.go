package board

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// index holds nodes in buckets. Classes that divide the same nodes in the same way share one.
type index struct {
	board     *Board
	resources *resources
	cells     *partition
	nodes     nodeset.Set // of a shared index
	buckets   []bucket
	active    []int32 // buckets with nodes
	bucketOf  []int32 // by node: its bucket plus one, 0 for none
	// filled and risen are how much of the lists of resources has been applied.
	filled, risen int

	// width is the number of values of a bucket: the values of bucket i start at values[i*width].
	width   int
	values  []int64
	byValue map[string]int32 // buckets by cell and values
	hint    []int32          // by cell: the bucket of the last look-up plus one
	key     []byte
}

type bucket struct {
	cell int32
	live int32 // number of nodes
	at   int32 // position in active
	// heap has, for each node, an entry that is at least the node's current one. It may also have outdated entries.
	heap []uint64
}

// newIndex divides the nodes that have room into buckets. value returns the values of a node.
func newIndex(b *Board, r *resources, cells *partition, nodes []uint32, width int, value func(n uint32, to []int64)) *index {
	x := &index{
		board: b, resources: r, cells: cells,
		bucketOf: make([]int32, len(b.all)),
		filled:   len(r.filled), risen: len(r.risen),
		width:   width,
		byValue: make(map[string]int32),
		hint:    make([]int32, len(cells.first)),
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
		g := x.bucket(cells.cell[n], values)
		x.bucketOf[n] = g + 1
		x.buckets[g].live++
		total++
	}
	entries := make([]uint64, total)
	for i := range x.buckets {
		g := &x.buckets[i]
		g.heap, entries = entries[:0:g.live], entries[g.live:]
		g.at = int32(i)
		x.active = append(x.active, int32(i))
	}
	for _, n := range nodes {
		if g := x.bucketOf[n] - 1; g >= 0 {
			x.buckets[g].heap = append(x.buckets[g].heap, x.entry(n))
		}
	}
	for i := range x.buckets {
		heapify(x.buckets[i].heap)
	}
	return x
}

// entry returns the heap entry of a node: resource score, then the inverted rank.
func (x *index) entry(n uint32) uint64 {
	return uint64(x.resources.score[n])<<32 | uint64(^x.board.ranks.Of(n))
}

// bucket returns the bucket of a cell and values. It adds a missing one.
func (x *index) bucket(cell int32, values []int64) int32 {
	if g := x.hint[cell] - 1; g >= 0 && slices.Equal(x.valuesOf(g), values) {
		return g
	}
	x.key = binary.LittleEndian.AppendUint32(x.key[:0], uint32(cell))
	for _, v := range values {
		x.key = binary.LittleEndian.AppendUint64(x.key, uint64(v))
	}
	g, ok := x.byValue[string(x.key)]
	if !ok {
		g = int32(len(x.buckets))
		x.buckets = append(x.buckets, bucket{cell: cell})
		x.values = append(x.values, values...)
		x.byValue[string(x.key)] = g
	}
	x.hint[cell] = g + 1
	return g
}

func (x *index) valuesOf(g int32) []int64 { return x.values[int(g)*x.width : int(g+1)*x.width] }

// catchUp applies changes of resources.
func (x *index) catchUp() {
	filled := x.resources.filled[x.filled:]
	x.filled += len(filled)
	for _, n := range filled {
		x.drop(n)
	}
	for ; x.risen < len(x.resources.risen); x.risen++ {
		n := x.resources.risen[x.risen]
		if g := x.bucketOf[n] - 1; g >= 0 {
			x.enter(g, n)
		}
	}
}

// drop removes a node.
func (x *index) drop(n uint32) {
	if g := x.bucketOf[n] - 1; g >= 0 {
		x.shrink(g)
		x.bucketOf[n] = 0
	}
}

// move moves a node to the bucket of its cell and values.
func (x *index) move(n uint32, values []int64) {
	if from := x.bucketOf[n] - 1; from >= 0 {
		if slices.Equal(x.valuesOf(from), values) {
			return
		}
		x.shrink(from)
	}
	to := x.bucket(x.cells.cell[n], values)
	x.bucketOf[n] = to + 1
	g := &x.buckets[to]
	if g.live++; g.live == 1 {
		g.at = int32(len(x.active))
		x.active = append(x.active, to)
	}
	x.enter(to, n)
}

// shrink counts one node less in a bucket.
func (x *index) shrink(i int32) {
	g := &x.buckets[i]
	if g.live--; g.live > 0 {
		return
	}
	g.heap = g.heap[:0]
	last := x.active[len(x.active)-1]
	x.active[g.at], x.buckets[last].at = last, g.at
	x.active = x.active[:len(x.active)-1]
}

func (x *index) enter(g int32, n uint32) {
	b := &x.buckets[g]
	b.heap = append(b.heap, x.entry(n))
	up(b.heap, len(b.heap)-1)
}

// refresh corrects the top of a bucket's heap and returns it.
func (x *index) refresh(i int32) uint64 {
	g := &x.buckets[i]
	for {
		top := g.heap[0]
		n := x.board.nodeOf(top)
		if x.bucketOf[n] != i+1 {
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

// bestExcept returns the entry of the best node of a bucket that is not in removed, and the number of entries of other
// nodes that it passed. There must be such a node.
func (x *index) bestExcept(i int32, removed nodeset.Set) (best uint64, misses int) {
	x.refresh(i)
	h := x.buckets[i].heap
	var visit func(at int)
	visit = func(at int) {
		if at >= len(h) || h[at] <= best {
			return
		}
		if n := x.board.nodeOf(h[at]); x.bucketOf[n] == i+1 && !removed.Has(n) {
			best = max(best, x.entry(n))
		} else {
			misses++
		}
		higher, lower := 2*at+1, 2*at+2
		if lower < len(h) && h[lower] > h[higher] {
			higher, lower = lower, higher
		}
		visit(higher)
		visit(lower)
	}
	visit(0)
	return best, misses
}
