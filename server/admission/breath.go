package admission

import (
	"os"
	"runtime"
	"sync/atomic"
)

// breather lets other goroutines of the process run, and has the runtime look at the network.
//
// A processor looks for connections that can be read only when it has no goroutine to run, and runtime.Gosched always leaves it
// one. While all seats compute, only the runtime's monitor is left to look, every 10 ms. A goroutine that waits for the network
// itself leaves its processor none.
type breather struct {
	// read and write are the ends of a pipe. They are nil if there could be none.
	read, write *os.File
	busy        atomic.Bool
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
	go func() { _, _ = b.write.Write([]byte{0}) }()
	_, _ = b.read.Read(make([]byte, 1))
}
