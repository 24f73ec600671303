package decode

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// Bounds of a chunk, which should fit into a core's cache.
const (
	chunkItems = 16
	chunkNodes = 64
	chunkBytes = 128 << 10
)

// sequentialBytes is the size up to which one goroutine decodes everything.
const sequentialBytes = 64 << 10

// chunk is a run of fields of a cluster, decoded by a reader.
type chunk struct {
	run
	panicked any // a panic while reading, with its stack

	items []readItem
	nodes []readNode
	// shared are the templates that the reader saw first in this chunk. Nodes in the content refer to them.
	reader int
	shared [][]byte
	drafts []engine.Draft // of valid nodes, at the nodes' positions
	// The parts of nodes are allocated here.
	lists  lists
	counts []api.PodCount
	pods   []api.Pod
	forms  []byte
	text   []byte
}

func (c *chunk) reset(of run) {
	c.run = of
	c.items, c.nodes = c.items[:0], c.nodes[:0]
	c.lists.labels.reset()
	c.lists.quantities.reset()
	c.lists.taints.reset()
	c.lists.images.reset()
	c.counts, c.pods, c.forms, c.text = c.counts[:0], c.pods[:0], c.forms[:0], slices.Grow(c.text[:0], of.bytes)
}

// run is consecutive fields of one kind, nodes or other items. Fields of the other kind may be among them.
type run struct {
	from   wire.Reader // at the first field
	fields int
	bytes  int
}

// each calls read with the length of each field that wanted selects. read reads that many bytes.
func (r run) each(wanted func(protowire.Number) bool, read func(in *wire.Reader, field protowire.Number, n int)) {
	in := r.from // outside of the loop, which would copy it to the heap for each field
	for left := r.fields; left > 0; {
		field, n, _ := in.Next()
		if wanted(field) && n >= 0 {
			read(&in, field, n)
			left--
		} else {
			in.Skip(max(n, 0))
		}
	}
}

// runs is all fields of one kind.
type runs struct {
	list   []run
	fields int
	bytes  int
	// first is at the first field, end after the last one.
	first, end wire.Reader
}

func (r *runs) add(from, end wire.Reader, bytes, most int) {
	if r.fields == 0 {
		r.first = from
	}
	r.end = end
	if n := len(r.list); n == 0 || r.list[n-1].fields == most || r.list[n-1].bytes+bytes > chunkBytes {
		r.list = append(r.list, run{from: from})
	}
	last := &r.list[len(r.list)-1]
	last.fields++
	last.bytes += bytes
	r.fields++
	r.bytes += bytes
}

// cut splits a cluster into runs, up to a malformed or unknown field, which wrong describes.
func cut(in wire.Pieces) (items, nodes runs, wrong *lost) {
	for reader := wire.NewReader(in); !reader.Done(); {
		from := *reader
		field, n, ok := reader.Next()
		switch {
		case !ok:
			return items, nodes, &lost{"", "is no protobuf message", malformed}
		case n >= 0 && isNode(field):
			reader.Skip(n)
			nodes.add(from, *reader, n, chunkNodes)
		case n >= 0 && isItem(field):
			reader.Skip(n)
			items.add(from, *reader, n, chunkItems)
		default:
			return items, nodes, unknown(field)
		}
	}
	return items, nodes, nil
}

// inOrder reads runs, concurrently if they are large, and commits them one by one in their order, until d is over. The reader of a
// run commits the runs that are next, unless another goroutine does: no reader waits while there is something to read.
func (d *decoder) inOrder(of runs, read func(*reader, *chunk), commit func(*chunk)) {
	workers := 1
	if of.bytes > sequentialBytes {
		workers = min(runtime.GOMAXPROCS(0), len(of.list), content.MaxSharers)
	}
	readers := d.readersFor(workers)
	// A reader takes a free chunk before a run. The runs in flight are therefore consecutive, at most one per chunk, and each has a
	// slot of its own.
	free, slots := make(chan *chunk, len(d.chunks)), make([]atomic.Pointer[chunk], len(d.chunks))
	for _, c := range d.chunks {
		free <- c
	}
	var next atomic.Int64
	var committing atomic.Bool // guards committed, panicked and d
	committed, panicked := 0, any(nil)
	commitNext := func() {
		for committing.CompareAndSwap(false, true) {
			if c := slots[committed%len(slots)].Swap(nil); c != nil {
				if panicked == nil && !d.over() {
					if panicked = c.panicked; panicked == nil {
						panicked = capturePanic(func() { commit(c) })
					}
				}
				if panicked != nil || d.over() {
					next.Store(int64(len(of.list)))
				}
				committed++
				free <- c
			}
			slot := &slots[committed%len(slots)]
			committing.Store(false)
			if slot.Load() == nil {
				return
			}
		}
	}
	work := func(r *reader) {
		for c := range free {
			i := int(next.Add(1)) - 1
			if i >= len(of.list) {
				free <- c // for others who wait
				return
			}
			c.reset(of.list[i])
			c.panicked = capturePanic(func() { read(r, c) })
			slots[i%len(slots)].Store(c)
			commitNext()
		}
	}
	var others sync.WaitGroup
	for _, r := range readers[1:] {
		others.Go(func() { work(r) })
	}
	work(readers[0])
	if others.Wait(); panicked != nil {
		panic(panicked)
	}
}

// readersFor returns readers, and makes chunks for them. They refer to the templates and classes that are committed.
func (d *decoder) readersFor(workers int) []*reader {
	for len(d.readers) < workers {
		r := newReader(d.referred)
		r.number, r.prepare, r.forms = len(d.readers), d.to.Preparer(), formShared
		if d.content.AddressOnly {
			r.forms = formName
		}
		d.readers = append(d.readers, r)
	}
	for len(d.chunks) < 2*workers {
		d.chunks = append(d.chunks, new(chunk))
	}
	for _, r := range d.readers {
		r.referred = d.referred
	}
	return d.readers[:workers]
}

// capturePanic calls f. It returns f's panic and its stack, nil without a panic, so that another goroutine can panic with it.
func capturePanic(f func()) (panicked any) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	f()
	return nil
}
