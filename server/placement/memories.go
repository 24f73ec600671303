package placement

import (
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/engine"
)

// Spare memory is for as many calls as compute at once on most machines, each for the answer of about 50,000 nodes.
const (
	spareMemories    = 16
	spareMemoryBytes = 1 << 20
)

// memories hold unused memory for answers. A slot is emptied and filled in one step, so that nothing waits; a call that finds no
// memory allocates its own.
type memories [spareMemories]atomic.Pointer[engine.Memory]

// take returns memory that nothing else uses.
func (s *memories) take() *engine.Memory {
	for i := range s {
		if s[i].Load() == nil {
			continue
		}
		if m := s[i].Swap(nil); m != nil {
			return m
		}
	}
	return new(engine.Memory)
}

// give returns the memory to the pool. Nothing may use it any more.
func (s *memories) give(m *engine.Memory) {
	if m.Bytes() > spareMemoryBytes {
		return
	}
	for i := range s {
		if s[i].CompareAndSwap(nil, m) {
			return
		}
	}
}
