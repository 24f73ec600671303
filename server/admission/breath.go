package admission

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

// longestBreath bounds how long a request lets others run: with more goroutines than processors none may look at the network.
const longestBreath = time.Millisecond

// breather lets other goroutines of the process run, and has the runtime look at the network.
//
// A processor looks for connections that can be read only when it has no goroutine to run, and runtime.Gosched always leaves it
// one. While all seats compute, only the runtime's monitor is left to look, every 10 ms. A goroutine that waits for the network
// itself leaves its processor none.
type breather struct {
	// read and write are the ends of a pipe. They are nil if there could be none.
	read, write *os.File
	busy        atomic.Bool
	// owed is the bytes that were or will be written, and were not read. Only who is busy uses it.
	owed int
}

func newBreather() *breather {
	read, write, err := os.Pipe()
	if err != nil {
		return &breather{}
	}
	return &breather{read: read, write: write}
}

// breathe returns when other goroutines had a turn.
func (b *breather) breathe() {
	if b.read == nil || !b.busy.CompareAndSwap(false, true) {
		runtime.Gosched()
		return
	}
	defer b.busy.Store(false)
	_ = b.read.SetReadDeadline(time.Now().Add(longestBreath))
	b.owed++
	go func() {
		if _, err := b.write.Write([]byte{0}); err != nil {
			_ = b.write.Close() // from now on all reads fail at once
		}
	}()
	for into := make([]byte, 8); b.owed > 0; {
		n, err := b.read.Read(into[:min(b.owed, len(into))])
		b.owed -= n
		if err != nil {
			runtime.Gosched()
			return
		}
	}
}
