package admission

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// arrivals counts the calls that arrive, by client, in a second and the one before it.
type arrivals struct {
	seed   maphash.Seed
	recent atomic.Pointer[recent]
}

type recent struct {
	begin       time.Time // of the current second
	now, before *period
}

// period is what arrived in a second. Clients share slots, which counts their calls together.
type period struct {
	calls          [1024]atomic.Int64
	total, clients atomic.Int64
}

func newArrivals() *arrivals { return &arrivals{seed: maphash.MakeSeed()} }

// add counts a call of a client, and reports whether the client has at least half of its share of all calls: with as many for each
// client, all have.
func (a *arrivals) add(client string, at time.Time) (many bool) {
	r := a.at(at)
	slot := maphash.String(a.seed, client) % uint64(len(r.now.calls))
	if r.now.calls[slot].Add(1) == 1 {
		r.now.clients.Add(1)
	}
	own := r.now.calls[slot].Load() + r.before.calls[slot].Load()
	total := r.now.total.Add(1) + r.before.total.Load()
	clients := max(r.now.clients.Load(), r.before.clients.Load())
	return 2*own*clients >= total
}

// at returns the counts at a time.
func (a *arrivals) at(at time.Time) *recent {
	for {
		r := a.recent.Load()
		if r != nil && at.Sub(r.begin) < time.Second {
			return r
		}
		next := &recent{begin: at, now: &period{}, before: &period{}}
		if r != nil && at.Sub(r.begin) < 2*time.Second {
			next.before = r.now
		}
		if a.recent.CompareAndSwap(r, next) {
			return next
		}
	}
}
