package admission

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// All clients share queueCount queues. Each client has hand of them, shuffled, so that two clients practically never have all
	// queues in common. Many clients of one attacker can fill all queues, but there are only queueCount.
	queueCount, hand = 64, 4
	// queueLength bounds the requests that wait in a queue, for memory. The wait is bounded by time.
	queueLength = 1024
)

// queues contains the waiting requests. Requests take the lock only if they found no seat. While requests wait, it is also taken by
// requests that end, give way or turn out to be more work, and by the gate for calls of clients that have made many.
//
// It is start-time fair queueing (Goyal, Vin and Cheng, 1996): the queue whose work so far is the least is next.
type queues struct {
	limiter *Limiter
	mu      sync.Mutex
	all     [queueCount]queue
	// work is the virtual time: the work of the queue that had the last turn.
	work time.Duration
	seed maphash.Seed
}

// queue is requests in order.
type queue struct {
	waiting []*waiter
	// work is what was done for the queue, or begun, in virtual time.
	work time.Duration
	// ahead is the work of the waiting requests until each has had a slice.
	ahead time.Duration
	// running is the number of leases with a seat.
	running int
	// full reports whether no more may wait. It is read without the lock.
	full atomic.Bool
}

// waiter is a lease that waits for a seat.
type waiter struct {
	lease *Lease
	chunk time.Duration
	ready chan struct{}
	got   bool
	// begun: the lease had a seat before. late: it did not, and can no longer be answered in time.
	begun, late bool
}

// of returns the queue of a lease.
func (q *queues) of(l *Lease) *queue {
	if l.queue == nil {
		l.queue = q.choose(q.hand(Client(l.ctx)))
	}
	return l.queue
}

// choose returns which of a client's queues its next request joins.
func (q *queues) choose(of [hand]int) (best *queue) {
	for _, i := range of {
		if c := &q.all[i]; best == nil || q.rank(c) < q.rank(best) {
			best = c
		}
	}
	return best
}

// hand returns the queues of a client, all different.
func (q *queues) hand(client string) (out [hand]int) {
	hash := maphash.String(q.seed, client)
	for i := range out {
		at := int(hash % uint64(queueCount-i))
		hash /= uint64(queueCount - i)
		before := slices.Clone(out[:i])
		slices.Sort(before)
		for _, b := range before {
			if at >= b {
				at++
			}
		}
		out[i] = at
	}
	return out
}

// full reports whether all of a client's queues are full.
func (q *queues) full(of [hand]int) bool {
	for _, i := range of {
		if !q.all[i].full.Load() {
			return false
		}
	}
	return true
}

// rank orders queues by when a request that joins one gets its turn.
func (q *queues) rank(c *queue) time.Duration { return max(c.work, q.work) + c.ahead }

// active returns the number of queues with requests.
func (q *queues) active() (n int) {
	for i := range q.all {
		if c := &q.all[i]; len(c.waiting) > 0 || c.running > 0 {
			n++
		}
	}
	return n
}

// admit gets a seat for a new lease.
func (q *queues) admit(l *Lease) error {
	begin := time.Now()
	q.mu.Lock()
	if q.limiter.take() {
		q.mu.Unlock()
		return nil
	}
	c := q.of(l)
	if r := q.judge(l, c, false); r != nil {
		q.mu.Unlock()
		return q.refuse(l, r)
	}
	w := q.enter(l, c)
	if w == nil {
		q.mu.Unlock()
		return nil
	}
	q.mu.Unlock()
	seated := q.await(w)
	q.limiter.observe(l.ctx, time.Since(begin))
	switch {
	case w.late:
		return q.refuse(l, &Refusal{Late, minRetry})
	case !seated && l.ctx.Err() == nil: // it allows a partial answer, which has to be sent
		return q.refuse(l, &Refusal{Late, minRetry})
	case !seated:
		return l.ctx.Err()
	}
	return nil
}

func (l *Limiter) observe(ctx context.Context, waited time.Duration) {
	if l.observer != nil {
		l.observer.Waited(ctx, waited)
	}
}

// enter makes a lease wait, unless a seat has become free: then it takes it and returns nil. The lock must be held.
func (q *queues) enter(l *Lease, c *queue) *waiter {
	for {
		counts := q.limiter.counts.Load()
		seats, waiting := split(counts)
		if waiting == 0 && seats < q.limiter.seats {
			if q.limiter.counts.CompareAndSwap(counts, counts+oneSeat) {
				q.sit(c)
				return nil
			}
			continue
		}
		if q.limiter.counts.CompareAndSwap(counts, counts+oneWaiter) {
			break
		}
	}
	return q.join(l, c)
}

// wake resets the work of a queue without requests: it neither saves turns up nor owes any.
func (q *queues) wake(c *queue) {
	if len(c.waiting) == 0 && c.running == 0 {
		c.work = max(c.work, q.work)
	}
}

// sit counts a lease that got a seat without waiting.
func (q *queues) sit(c *queue) {
	q.wake(c)
	c.running++
}

// join appends a lease that is counted as waiting.
func (q *queues) join(l *Lease, c *queue) *waiter {
	w := &waiter{lease: l, chunk: min(max(q.limiter.remaining(l), slice/64), l.keeps()), ready: make(chan struct{})}
	q.wake(c)
	c.waiting = append(c.waiting, w)
	c.full.Store(len(c.waiting) >= queueLength)
	c.ahead += w.chunk
	return w
}

// await waits for a seat, and reports whether it came before the request ended.
func (q *queues) await(w *waiter) bool {
	select {
	case <-w.ready:
		return true
	case <-w.lease.ends():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	c := w.lease.queue
	if w.late {
		return false
	}
	if w.got { // the seat came at the same time
		c.running--
		c.work -= w.chunk
		q.limiter.counts.Add(noSeat)
		q.next()
		return false
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(other *waiter) bool { return other == w })
	c.full.Store(len(c.waiting) >= queueLength)
	c.ahead -= w.chunk
	q.limiter.counts.Add(noWaiter)
	return false
}

// next gives free seats to the requests whose turn it is. The lock must be held.
func (q *queues) next() {
	for {
		seats, waiting := split(q.limiter.counts.Load())
		if waiting == 0 || seats >= q.limiter.seats {
			return
		}
		var c *queue
		for i := range q.all {
			if other := &q.all[i]; len(other.waiting) > 0 && (c == nil || other.work < c.work) {
				c = other
			}
		}
		w := c.waiting[0]
		c.waiting = slices.Delete(c.waiting, 0, 1)
		c.full.Store(len(c.waiting) >= queueLength)
		c.ahead -= w.chunk
		deadline, ok := w.lease.ctx.Deadline()
		if ok && !w.begun && w.lease.early == nil && wasted(deadline, q.limiter.remaining(w.lease)) {
			w.late = true
			q.limiter.counts.Add(noWaiter)
			close(w.ready)
			continue
		}
		c.running++
		q.work = max(q.work, c.work)
		c.work += w.chunk
		w.lease.charged, w.got = w.chunk, true
		q.limiter.counts.Add(seated)
		close(w.ready)
	}
}

// charge corrects the work of a queue by the measured work of a slice. Work counts only while others wait.
func (q *queues) charge(l *Lease, c *queue, took time.Duration) {
	c.work += min(took, longest*time.Duration(l.width)) - l.charged
	l.charged = 0
}

// leave gives the seat of a lease back.
func (q *queues) leave(l *Lease, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := l.queue; c != nil {
		q.charge(l, c, took)
		c.running--
	}
	q.limiter.counts.Add(noSeat)
	q.next()
}

// come gets a seat for a lease that gave it back. It reports false if the request ended first.
func (q *queues) come(l *Lease) bool {
	q.mu.Lock()
	w := q.enter(l, q.of(l))
	if w != nil {
		w.begun = true
	}
	q.mu.Unlock()
	return w == nil || q.await(w)
}

// again is leave and come: other requests have a turn in between.
func (q *queues) again(l *Lease) bool {
	q.mu.Lock()
	if !q.limiter.contended() {
		q.mu.Unlock()
		return true
	}
	known := l.queue != nil
	c := q.of(l)
	if !known {
		q.sit(c)
	}
	q.charge(l, c, l.use())
	c.running--
	w := q.join(l, c)
	w.begun = true
	q.limiter.counts.Add(unseated)
	q.next()
	q.mu.Unlock()
	if !q.await(w) {
		return false
	}
	l.since.Store(time.Now().UnixNano())
	return true
}

// reconsider refuses a lease with a seat whose work turns out to be too much.
func (q *queues) reconsider(l *Lease) error {
	q.mu.Lock()
	known := l.queue != nil
	c := q.of(l)
	if !known {
		q.sit(c)
	}
	r := q.judge(l, c, true)
	q.mu.Unlock()
	if r == nil {
		return nil
	}
	return q.refuse(l, r)
}
