package decode

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/proto/content"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// How much one chunk has, at most: it should stay in a core's cache.
const (
	chunkItems = 16
	chunkNodes = 64
	chunkBytes = 128 << 10
)

// aloneBytes is up to where one goroutine does everything.
const aloneBytes = 64 << 10

// chunk is a run of fields of a cluster, and what a reader made of them.
type chunk struct {
	*run
	panicked any // what reading it panicked with

	items []readItem
	nodes []readNode
	// shared are templates that the reader met first, which nodes that are kept refer to.
	reader int
	shared [][]byte
	drafts []engine.Draft // of sound nodes, in the nodes' places
	// What nodes consist of lies here.
	lists  lists
	counts []api.PodCount
	pods   []api.Pod
	forms  []byte
	text   []byte
}

func (c *chunk) reset() {
	c.items, c.nodes = c.items[:0], c.nodes[:0]
	c.lists.labels.reset()
	c.lists.quantities.reset()
	c.lists.taints.reset()
	c.lists.images.reset()
	c.counts, c.pods, c.forms, c.text = c.counts[:0], c.pods[:0], c.forms[:0], c.text[:0]
}

// runs is all fields of one sort.
type runs struct {
	list   []run
	fields int
	bytes  int
	// first stands where the first field begins, end where the last one ends.
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

// cut finds the fields of a cluster, up to where it is malformed or has a field that is unknown. It tells what is wrong.
func cut(in wire.Pieces) (items, nodes runs, wrong string) {
	for reader := wire.NewReader(in); !reader.Done(); {
		from := *reader
		field, n, ok := reader.Next()
		switch {
		case !ok:
			return items, nodes, "is no protobuf message"
		case n >= 0 && field == clusterNodes:
			reader.Skip(n)
			nodes.add(from, *reader, n, chunkNodes)
		case n >= 0 && isItem(field):
			reader.Skip(n)
			items.add(from, *reader, n, chunkItems)
		default:
			return items, nodes, unknownField(field)
		}
	}
	return items, nodes, ""
}

// readersFor returns as many readers as there are to be for so many bytes in so many runs, and the chunks that they take.
func (d *decoder) readersFor(bytes, runs int) ([]*reader, []*chunk) {
	workers, chunks := 1, 1
	if bytes > aloneBytes {
		if workers = min(runtime.GOMAXPROCS(0), runs, content.MaxSharers); workers > 1 {
			chunks = 2 * workers
		}
	}
	for len(d.readers) < workers {
		r := newReader()
		r.number, r.prepare, r.forms = len(d.readers), d.to.Preparer(), formShared
		if d.content.AddressOnly {
			r.forms = formName
		}
		d.readers = append(d.readers, r)
	}
	for len(d.chunks) < chunks {
		d.chunks = append(d.chunks, new(chunk))
	}
	return d.readers[:workers], d.chunks[:chunks]
}

// inOrder lets as many goroutines as can run read, each with a reader of its own, and takes over what they read in the
// order of the runs, until the decoder is over.
func (d *decoder) inOrder(of runs, how *handling) {
	if of.fields == 0 {
		return
	}
	readers, chunks := d.readersFor(of.bytes, len(of.list))
	w := newWork(chunks, len(of.list), d.over)
	for i := range of.list {
		r := &of.list[i]
		r.of, r.place = how, i
		w.runs <- r
	}
	close(w.runs)
	w.all(readers)
}

// all does the work, and returns once it is done.
func (w *work) all(readers []*reader) {
	var others sync.WaitGroup
	for _, r := range readers[1:] {
		others.Go(func() { w.do(r) })
	}
	w.do(readers[0])
	others.Wait()
	if w.panicked != nil {
		panic(w.panicked)
	}
}

// run is a number of fields of one sort, the first of them where a reader stands.
type run struct {
	from   wire.Reader
	fields int
	bytes  int

	of            *handling
	place         int    // among all that are worked on, from 0
	before, after func() // called where the run is taken over, if they are there
}

// handling says what is done with the fields of runs.
type handling struct {
	read func(*reader, *chunk)
	take func(*chunk)
}

// work is runs that are read by several goroutines and taken over in order. Nobody waits for anybody as long as there is
// something to read: whoever has read takes over what it is the turn of, unless somebody does so already.
type work struct {
	runs chan *run   // in their order, those to be read
	over func() bool // whether there is no point in more; to be asked where runs are taken over
	// stopped is closed once nothing more is taken over.
	stopped chan struct{}

	// free are the chunks that nobody uses. Whoever reads takes a chunk before a run, so that the runs that are read or
	// wait to be taken over are neighbours, as many as there are chunks.
	free chan *chunk
	done []atomic.Pointer[chunk] // what was read, as many as there are chunks: the place of a run is modulo that

	taking   atomic.Bool // whether somebody takes over; what follows is for that one
	taken    int         // how many runs are taken over
	ended    bool        // whether stopped is closed
	panicked any         // what went wrong first
}

func newWork(chunks []*chunk, runs int, over func() bool) *work {
	w := &work{
		runs: make(chan *run, runs), over: over, stopped: make(chan struct{}),
		free: make(chan *chunk, len(chunks)), done: make([]atomic.Pointer[chunk], len(chunks)),
	}
	for _, c := range chunks {
		w.free <- c
	}
	return w
}

// do reads and takes over until there is no more to read.
func (w *work) do(r *reader) {
	for c := range w.free {
		next := w.next()
		if next == nil {
			w.free <- c // for others who wait
			return
		}
		c.reset()
		c.run = next
		c.panicked = guarded(func() { next.of.read(r, c) })
		w.done[next.place%len(w.done)].Store(c)
		w.takeOver()
	}
}

// next waits for a run to be read, and returns nil if there is none.
func (w *work) next() *run {
	select {
	case <-w.stopped:
		return nil
	default:
	}
	select {
	case r := <-w.runs:
		return r
	case <-w.stopped:
		return nil
	}
}

// takeOver takes over what it is the turn of.
func (w *work) takeOver() {
	for w.taking.CompareAndSwap(false, true) {
		turn := &w.done[w.taken%len(w.done)]
		for c := turn.Swap(nil); c != nil; c = turn.Swap(nil) {
			w.taken++
			turn = &w.done[w.taken%len(w.done)]
			w.take(c)
			w.free <- c
		}
		w.taking.Store(false)
		// What was done after the look above was left to whoever was taking over.
		if turn.Load() == nil {
			return
		}
	}
}

// take takes over what was read of a run, unless that is over.
func (w *work) take(c *chunk) {
	if w.ended {
		return
	}
	if w.panicked = c.panicked; w.panicked == nil {
		w.panicked = guarded(func() {
			if c.before != nil {
				c.before()
			}
			if c.of.take(c); c.after != nil && !w.over() {
				c.after()
			}
		})
	}
	if w.panicked != nil || w.over() {
		w.ended = true
		close(w.stopped)
	}
}

// guarded returns what f panicked with, nil if it did not. A panic is to reach whoever wants the work done.
func guarded(f func()) (panicked any) {
	defer func() { panicked = recover() }()
	f()
	return nil
}
