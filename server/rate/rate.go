// Package rate limits rates: the generic cell rate algorithm on one atomic number.
package rate

import (
	"sync/atomic"
	"time"
)

// Limit admits events at a rate with a burst. It is safe for concurrent use and holds no locks.
type Limit struct {
	interval time.Duration // between two events at the rate
	burst    time.Duration // interval times the burst size
	now      func() time.Time
	start    time.Time
	// due is the theoretical arrival time of the next event, as nanoseconds since start.
	due atomic.Int64
}

// New returns a limit of perSecond events with a burst, measured by the clock now.
func New(perSecond float64, burst int, now func() time.Time) *Limit {
	interval := max(time.Duration(float64(time.Second)/perSecond), 1)
	return &Limit{interval: interval, burst: interval * time.Duration(burst), now: now, start: now()}
}

// Admit admits an event and returns 0, or returns the wait before it would be admitted.
func (l *Limit) Admit() (wait time.Duration) {
	now := int64(l.now().Sub(l.start))
	for {
		due := l.due.Load()
		next := max(due, now) + int64(l.interval)
		if wait := next - now - int64(l.burst); wait > 0 {
			return time.Duration(wait)
		}
		if l.due.CompareAndSwap(due, next) {
			return 0
		}
	}
}
