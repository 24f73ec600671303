package board

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
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
	closes    bool    // whether nodes that the state cordons have no room
	// risen is how much of the list of resources has been applied, of an epoch.
	risen, epoch int
	at           *cluster.Move // of a shared index

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
func newIndex(b *Board, of indexKey, nodes []uint32, width int, value func(n uint32, to []int64)) *index {
	r, cells := of.resources, of.cells
	x := &index{
		board: b, resources: r, cells: cells, closes: of.closes,
		bucketOf: make([]int32, len(b.all)),
		risen:    len(r.risen), epoch: r.epoch, at: r.at,
		width:   width,
		byValue: make(map[string]int32),
		hint:    make([]int32, len(cells.first)),
	}
	values := make([]int64, width)
	total := 0
	for _, n := range nodes {
		if !x.open(n) {
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

// kind returns what indexes of the same nodes have in common.
func (x *index) kind() indexKey { return indexKey{x.resources, x.cells, x.closes} }

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

// open reports whether a node has room, and is not closed.
func (x *index) open(n uint32) bool {
	return x.resources.score[n] != full && !(x.closes && x.board.state.HasCordoned(n))
}

// catchUp enters the nodes whose entries may have risen. A shared index also follows the moves to nodes that it has no bucket of.
func (x *index) catchUp() {
	if x.nodes != nil && x.at != x.resources.at {
		cluster.Way(x.at, x.resources.at, func(m *cluster.Move, sign int32) {
			if n := m.Node; m.Group != cluster.Renewed && (m.Raises(sign) || x.resources.score[n] == full) {
				x.settle(n)
			}
		})
		x.at = x.resources.at
	}
	if x.epoch != x.resources.epoch {
		x.epoch, x.risen = x.resources.epoch, 0
	}
	for ; x.risen < len(x.resources.risen); x.risen++ {
		n := x.resources.risen[x.risen]
		if g := x.bucketOf[n] - 1; g >= 0 {
			x.enter(g, n)
		}
	}
}

// settle puts a node of a shared index into the bucket of its cell if it is open, and removes it otherwise.
func (x *index) settle(n uint32) {
	if x.nodes.Has(n) && x.open(n) {
		x.put(n, nil)
	} else {
		x.drop(n)
	}
}

// drop removes a node.
func (x *index) drop(n uint32) {
	if g := x.bucketOf[n] - 1; g >= 0 {
		x.shrink(g)
		x.bucketOf[n] = 0
	}
}

// put puts a node into the bucket of its cell and values, with its current entry.
func (x *index) put(n uint32, values []int64) {
	from := x.bucketOf[n] - 1
	if from >= 0 && slices.Equal(x.valuesOf(from), values) {
		x.enter(from, n)
		return
	}
	if from >= 0 {
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

// enter adds the current entry of a node to the heap of its bucket. A heap with many outdated entries is built again.
func (x *index) enter(g int32, n uint32) {
	b := &x.buckets[g]
	b.heap = append(b.heap, x.entry(n))
	if len(b.heap) <= 2*int(b.live)+spareEntries {
		up(b.heap, len(b.heap)-1)
		return
	}
	seen, kept := nodeset.New(len(x.bucketOf)), b.heap[:0]
	for _, entry := range b.heap {
		if n := x.board.nodeOf(entry); x.bucketOf[n] == g+1 && !seen.Has(n) {
			seen.Add(n)
			kept = append(kept, x.entry(n))
		}
	}
	b.heap = kept
	heapify(b.heap)
}

// spareEntries is how many outdated entries a heap may have in addition to as many as it has nodes.
const spareEntries = 256

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
