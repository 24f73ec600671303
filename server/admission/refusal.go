package admission

import "time"

const (
	// The expected wait and work of a new request must be shorter than the time left by this factor: estimates are off, and the
	// answer has to be sent.
	spareWait, spareWork = 4.0, 2.5
	// The same for the work of a request that waited or has a seat: a refusal would waste its work, and come late itself.
	spareLate = 1.2
)

// Reason is why a request is refused.
type Reason uint8

// The reasons.
const (
	// Late: the answer would come after the request's deadline.
	Late Reason = iota
	// Long: the request would wait longer than Settings.MaxWait.
	Long
	// Full: too many requests of the client wait.
	Full
	// Behind: handlers are too far behind the connections.
	Behind
	// Reasons is the number of reasons.
	Reasons
)

func (r Reason) String() string { return [...]string{"deadline", "wait", "queue_full", "behind"}[r] }

// Refusal is the error of a request that could not be answered in time.
type Refusal struct {
	Reason Reason
	// After is the delay after which a retry may succeed.
	After time.Duration
}

func (r *Refusal) Error() string { return "too much work: " + r.Reason.String() }

// The bounds of Refusal.After.
const minRetry, maxRetry = 20 * time.Millisecond, 10 * time.Second

// late reports whether a new request is not expected to be answered before its deadline.
func late(deadline time.Time, wait, work time.Duration) bool {
	return float64(wait)*spareWait+float64(work)*spareWork > float64(time.Until(deadline))
}

// wasted is late for a request that waited or has a seat.
func wasted(deadline time.Time, work time.Duration) bool {
	return float64(work)*spareLate > float64(time.Until(deadline))
}

func refusal(r Reason, after time.Duration) *Refusal {
	return &Refusal{r, min(max(after, minRetry), maxRetry)}
}

// shared returns how long work of a queue takes while it and all queues with requests share the seats. The lock must be held.
func (q *queues) shared(c *queue) func(work time.Duration) time.Duration {
	share := q.active()
	if len(c.waiting) == 0 && c.running == 0 {
		share++
	}
	seats := time.Duration(q.limiter.seats)
	return func(work time.Duration) time.Duration { return work / seats * time.Duration(share) }
}

// foresee returns how long the next request of a client waits for its first turn, and until the requests before it are done, if more
// requests join its queue first. The request is about as long as they are, and so needs as many turns. Each turn comes when all
// other requests have had theirs.
func (q *queues) foresee(of [hand]int, turns, whole time.Duration) (wait, all time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.choose(of)
	shared := q.shared(c)
	return shared(c.ahead + turns), shared(c.ahead + whole)
}

// judge returns why a request is refused, nil if it is not. The lock must be held.
func (q *queues) judge(l *Lease, c *queue, begun bool) *Refusal {
	shared, work, keeps := q.shared(c), q.limiter.remaining(l), l.keeps()
	wait := shared(c.ahead)
	// Each slice waits until all other requests of the queue have had a slice. A lease with a seat keeps it to the end of its slice.
	whole := max(work, shared(c.ahead+min(work, keeps)))
	if work > keeps {
		turns := float64(work) / float64(slice)
		whole = max(work, time.Duration(min(float64(shared(c.ahead+slice))*turns, 1<<62)))
	}
	if !begun {
		if len(c.waiting) >= queueLength {
			return refusal(Full, wait)
		}
		if q.limiter.maxWait > 0 && wait > q.limiter.maxWait {
			return refusal(Long, wait)
		}
	}
	if l.early != nil { // it answers with what it has
		return nil
	}
	deadline, ok := l.ctx.Deadline()
	if !ok {
		return nil
	}
	tooLate := late(deadline, max(wait, whole-work), work)
	if begun && work <= keeps {
		tooLate = wasted(deadline, work-time.Duration(time.Now().UnixNano()-l.since.Load()))
	}
	if tooLate {
		return refusal(Late, max(wait, whole-time.Until(deadline)))
	}
	return nil
}

// refuse reports the refusal to the observer.
func (q *queues) refuse(l *Lease, r *Refusal) error {
	if o := q.limiter.observer; o != nil {
		o.Refused(l.ctx, r.Reason)
	}
	return r
}
