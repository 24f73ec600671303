package admission

import (
	"hash/maphash"
	"sync/atomic"
	"time"
)

// ByClient keeps counts for each client, or for keys that begin with a client's name. A hash chooses the counts, so clients may
// share them: about a tenth of a hundred clients, if there are 1,024.
type ByClient[T any] struct {
	seed   maphash.Seed
	counts []T
}

// NewByClient returns a number of counts that are zero.
func NewByClient[T any](n int) *ByClient[T] {
	return &ByClient[T]{seed: maphash.MakeSeed(), counts: make([]T, n)}
}

// Of returns the counts of a client.
func (b *ByClient[T]) Of(client string) *T {
	return &b.counts[maphash.String(b.seed, client)%uint64(len(b.counts))]
}

// average is a moving average. Concurrent measurements may be lost.
type average struct{ atomic.Int64 }

// learn moves it a sixteenth of the way to a measurement.
func (a *average) learn(measured int64) {
	was := a.Load()
	a.Store(was + (measured-was)/16)
}

// arrivals counts the calls that arrive in a second and the one before it.
type arrivals struct {
	recent atomic.Pointer[recent]
}

type recent struct {
	begin       time.Time // of the current second
	now, before *period
}

// period counts the arrivals of a second.
type period struct {
	calls          *ByClient[atomic.Int64]
	total, clients atomic.Int64
}

// newPeriod returns a period without calls. Its hash is its own, so that clients share their counts with others each second.
func newPeriod() *period { return &period{calls: NewByClient[atomic.Int64](1024)} }

// add counts a call of a client, and reports whether the client has made at least half of its share of the recent calls. If all clients
// make equally many, each exceeds that half.
func (a *arrivals) add(client string, at time.Time) (many bool) {
	r := a.at(at)
	own := r.now.calls.Of(client).Add(1)
	if own == 1 {
		r.now.clients.Add(1)
	}
	own += r.before.calls.Of(client).Load()
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
		next := &recent{begin: at, now: newPeriod(), before: newPeriod()}
		if r != nil && at.Sub(r.begin) < 2*time.Second {
			next.before = r.now
		}
		if a.recent.CompareAndSwap(r, next) {
			return next
		}
	}
}
