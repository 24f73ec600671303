package placement

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
)

// TestMemories checks that memory has one user at a time.
func TestMemories(t *testing.T) {
	var s memories
	var used sync.Map // *engine.Memory to whether it is in use
	var all sync.WaitGroup
	for range 2 * spareMemories {
		all.Go(func() {
			for range 1000 {
				m := s.take()
				users, _ := used.LoadOrStore(m, new(atomic.Int32))
				if n := users.(*atomic.Int32).Add(1); n != 1 {
					t.Errorf("%d calls use the same memory", n)
				}
				users.(*atomic.Int32).Add(-1)
				s.give(m)
			}
		})
	}
	all.Wait()
	var first *engine.Memory
	for i := range s {
		if m := s[i].Load(); m != nil && first == nil {
			first = m
		}
	}
	if first == nil || s.take() != first {
		t.Error("memory that was given is not taken again")
	}
}
