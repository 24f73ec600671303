package batch

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/tools/events"
)

func (l *line) len() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.waiting)
}

// until waits until something holds.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for range 6000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("never")
}

func TestTheOldestOfALineAreGivenUp(t *testing.T) {
	l := newLine(2, 3)
	var running, most, done atomic.Int32
	release := make(chan struct{})
	var all sync.WaitGroup
	given := make(chan int, 10)
	enter := func(i int) {
		all.Go(func() {
			did := l.do(func() {
				most.Store(max(most.Load(), running.Add(1)))
				<-release
				running.Add(-1)
				done.Add(1)
			})
			if !did {
				given <- i
			}
		})
	}
	for i := range 2 {
		enter(i)
	}
	until(t, func() bool { return running.Load() == 2 })
	for i := 2; i < 5; i++ {
		enter(i)
		until(t, func() bool { return l.len() == i-1 })
	}
	for i := 5; i < 7; i++ {
		enter(i)
		if got := <-given; got != i-3 {
			t.Errorf("call %d is given up, want the oldest, %d", got, i-3)
		}
	}
	close(release)
	all.Wait()
	if most.Load() > 2 || done.Load() != 5 {
		t.Errorf("%d calls were made, %d at a time", done.Load(), most.Load())
	}
	for range 2 {
		if !l.do(func() {}) {
			t.Error("a free line does not let in")
		}
	}
}

// slowSink answers when it is released.
type slowSink struct {
	events.EventSink
	made    atomic.Int32
	release chan struct{}
}

func (s *slowSink) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	s.made.Add(1)
	<-s.release
	return e, nil
}

func TestEventsAreBounded(t *testing.T) {
	slow := &slowSink{release: make(chan struct{})}
	var dropped atomic.Int32
	s := &eventSink{EventSink: slow, line: newLine(1, 2), dropped: func() { dropped.Add(1) }}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if e, err := s.Create(t.Context(), &eventsv1.Event{}); e == nil || err != nil {
				t.Errorf("an event that is given up would be tried again: %v", err)
			}
		})
	}
	until(t, func() bool { return dropped.Load() == 7 })
	if slow.made.Load() != 1 {
		t.Errorf("%d events are being sent", slow.made.Load())
	}
	close(slow.release)
	all.Wait()
	if slow.made.Load() != 3 {
		t.Errorf("%d events were sent", slow.made.Load())
	}
}
