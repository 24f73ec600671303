package decode

import (
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/server/wire"
)

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
