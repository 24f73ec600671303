package rate_test

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/server/rate"
)

// clock is a clock that stands still unless moved.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

// Whatever comes when: in no stretch of time do more events get through than the burst and the rate allow, and one that
// waits as long as RetryInfo says gets through.
func TestLimitHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const interval = 10 * time.Millisecond
		burst := rapid.IntRange(1, 5).Draw(t, "burst")
		c := &clock{time.Unix(1e9, 0)}
		l := rate.New(100, burst, c.read)
		var through []time.Time
		for range 50 {
			c.now = c.now.Add(time.Duration(rapid.Int64Range(0, int64(3*interval)).Draw(t, "pause")))
			wait := l.Admit()
			if wait > 0 && rapid.Bool().Draw(t, "patient") {
				c.now = c.now.Add(wait)
				if wait = l.Admit(); wait > 0 {
					t.Fatalf("told to wait %v more after waiting", wait)
				}
			}
			if wait == 0 {
				through = append(through, c.now)
			}
		}
		for i := range through {
			for j := i; j < len(through); j++ {
				allowed := burst + int(through[j].Sub(through[i])/interval)
				if n := j - i + 1; n > allowed {
					t.Fatalf("%d events in %v, %d are allowed", n, through[j].Sub(through[i]), allowed)
				}
			}
		}
	})
}

func TestLimitLosesNothingToRaces(t *testing.T) {
	c := &clock{time.Unix(1e9, 0)}
	l := rate.New(1, 50, c.read)
	var mu sync.Mutex
	var group sync.WaitGroup
	passed := 0
	for range 4 {
		group.Go(func() {
			for range 25 {
				if l.Admit() == 0 {
					mu.Lock()
					passed++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if passed != 50 {
		t.Errorf("%d events of 100 got through, want 50", passed)
	}
}
