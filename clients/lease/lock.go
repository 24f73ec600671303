package lease

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lock is a resource lock that records when its lease was last renewed. It is as safe for concurrent use as the lock that
// it wraps.
type Lock struct {
	resourcelock.Interface
	holds time.Duration
	clock func() instant

	mutex   sync.Mutex
	renewed instant // when the last successful renewal began
	held    bool
	term    uint64
}

// New wraps a lock. The lease counts as held for a duration after the start of the last successful renewal: the lease
// duration less the longest time that a request sent in it may take.
func New(lock resourcelock.Interface, holds time.Duration) *Lock {
	return &Lock{Interface: lock, holds: holds, clock: now}
}

// Term returns a number that changes each time that the lease is acquired, or renewed too late. It is 0 while the lease is
// not held.
func (l *Lock) Term() uint64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.held || l.clock().since(l.renewed) >= l.holds {
		return 0
	}
	return l.term
}

// Get implements resourcelock.Interface.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.lose()
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *Lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l *Lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *Lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	began := l.clock()
	if record.HolderIdentity != l.Identity() {
		l.lose() // also if the response is lost
		return write(ctx, record)
	}
	if err := write(ctx, record); err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.held || began.since(l.renewed) >= l.holds {
		l.term++
	}
	l.renewed, l.held = began, true
	return nil
}

func (l *Lock) lose() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.held = false
}

// instant is a reading of both clocks.
type instant struct{ running, wall time.Duration }

var started = time.Now()

func now() instant {
	t := time.Now()
	return instant{running: t.Sub(started), wall: time.Duration(t.UnixNano())}
}

func (i instant) since(earlier instant) time.Duration {
	return max(i.running-earlier.running, i.wall-earlier.wall)
}
