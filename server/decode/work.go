package decode

import "sync/atomic"

// work is runs that are read by several goroutines and taken over in order. Nobody waits for anybody as long as there is
// something to read: whoever has read takes over what it is the turn of, unless somebody does so already.
type work struct {
	runs []run
	read func(*reader, *chunk)
	take func(*chunk)
	over func() bool // whether there is no point in more; to be asked where runs are taken over

	// free are the chunks that nobody uses. Whoever reads takes a chunk before a run, so that the runs that are read or
	// wait to be taken over are neighbours, as many as there are chunks.
	free chan *chunk
	done []atomic.Pointer[chunk] // what was read, by run, until it is taken over
	next atomic.Int64            // the next run to be read

	taking   atomic.Bool // whether somebody takes over; what follows is for that one
	taken    int         // how many runs are taken over
	panicked any         // what went wrong first
}

// do reads and takes over until there is no more to read.
func (w *work) do(r *reader) {
	for c := range w.free {
		i := int(w.next.Add(1)) - 1
		if i >= len(w.runs) {
			w.free <- c // for others who wait
			return
		}
		c.reset()
		c.run = w.runs[i]
		c.panicked = guarded(func() { w.read(r, c) })
		w.done[i].Store(c)
		w.takeOver()
	}
}

// takeOver takes over what it is the turn of.
func (w *work) takeOver() {
	for w.taking.CompareAndSwap(false, true) {
		for w.taken < len(w.done) {
			c := w.done[w.taken].Swap(nil)
			if c == nil {
				break
			}
			w.taken++
			if w.panicked == nil && !w.over() {
				if w.panicked = c.panicked; w.panicked == nil {
					w.panicked = guarded(func() { w.take(c) })
				}
			}
			if w.panicked != nil || w.over() {
				w.next.Store(int64(len(w.runs)))
			}
			w.free <- c
		}
		last := w.taken
		w.taking.Store(false)
		// What was done after the look above was left to whoever was taking over.
		if last == len(w.done) || w.done[last].Load() == nil {
			return
		}
	}
}

// guarded returns what f panicked with, nil if it did not. A panic is to reach whoever wants the work done.
func guarded(f func()) (panicked any) {
	defer func() { panicked = recover() }()
	f()
	return nil
}
