package cli

import (
	"context"
	"io"
)

// interruptible stops reading when the context ends. The pending read is abandoned with a buffer of its own, as a terminal
// or a pipe cannot be interrupted; no read may follow.
type interruptible struct {
	ctx context.Context
	in  io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	buffer := make([]byte, len(p))
	go func() {
		n, err := r.in.Read(buffer)
		done <- result{n, err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case got := <-done:
		return copy(p, buffer[:got.n]), got.err
	}
}

// output keeps the first write error, so that tables need not check every line.
type output struct {
	w      io.Writer
	before func() // called before each write, unless nil
	err    error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	if o.before != nil {
		o.before()
	}
	n, err := o.w.Write(p)
	o.err = err
	return n, err
}
