package lease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Observed is a lease that another process of this host holds, as kube-scheduler does beside its extender. It is safe for
// concurrent use.
type Observed struct {
	leases coordinationv1client.LeaseInterface
	name   string
	host   string
	margin time.Duration
	clock  func() instant

	mutex sync.Mutex
	last  observation
	began time.Duration // when the last reading began, by the monotonic clock
}

// observation is a lease that a process of this host held when it was read.
type observation struct {
	holder   string
	acquired time.Time
	renewed  instant // running: before this renewTime was first read; wall: the renewTime, by the clock of this host
	holds    time.Duration
	term     uint64
}

// Observe returns a lease that is held if its holder's identity is the host's name, "_" and a UUID, as with every component of
// Kubernetes. It counts as held for its duration less the margin, the longest time that a request may take, because others take over at
// the end of the duration. If its holder releases it, others take over earlier, and it counts as held until it is read again.
func Observe(leases coordinationv1client.LeaseInterface, name, host string, margin time.Duration) *Observed {
	return &Observed{leases: leases, name: name, host: host, margin: margin, clock: now}
}

// Term returns a number that changes each time that a process acquires the lease. It is 0 unless the lease is known to be held. It makes
// no request.
func (o *Observed) Term() uint64 {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.clock().since(o.last.renewed) >= o.last.holds {
		return 0
	}
	return o.last.term
}

// Check returns nil if the lease is held, and otherwise the reason. It reads the lease again after half of the time for which the last
// reading is valid.
func (o *Observed) Check(ctx context.Context) error {
	began := o.clock()
	o.mutex.Lock()
	last := o.last
	o.mutex.Unlock()
	if began.since(last.renewed) < last.holds/2 {
		return nil
	}
	lease, err := o.leases.Get(ctx, o.name, metav1.GetOptions{})
	if err == nil {
		err = o.observe(lease, began)
	}
	if o.Term() != 0 {
		return nil
	}
	return fmt.Errorf("lease %s is not held by kube-scheduler on this host: %w", o.name, err)
}

// observe records a lease read after an instant, and returns the reason if it is not held.
func (o *Observed) observe(lease *coordinationv1.Lease, began instant) error {
	s := lease.Spec
	var seen observation
	if s.HolderIdentity != nil && s.RenewTime != nil && s.LeaseDurationSeconds != nil {
		seen = observation{
			holder: *s.HolderIdentity, renewed: instant{running: began.running, wall: time.Duration(s.RenewTime.UnixNano())},
			holds: time.Duration(*s.LeaseDurationSeconds)*time.Second - o.margin,
		}
	}
	if s.AcquireTime != nil {
		seen.acquired = s.AcquireTime.Time
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if began.running < o.began {
		return errors.New("it was read again meanwhile")
	}
	o.began = began.running
	if seen.holder == o.last.holder && seen.renewed.wall == o.last.renewed.wall {
		seen.renewed = o.last.renewed // it was not renewed since the last reading
	}
	process, ofHost := strings.CutPrefix(seen.holder, o.host+"_")
	var err error
	switch {
	case !ofHost || strings.Contains(process, "_"):
		err, seen.holds = fmt.Errorf("its holder is %q, this host is %q", seen.holder, o.host), 0
	case seen.holds <= 0:
		err = fmt.Errorf("its duration of %d s does not exceed the maximum duration of a request, %v", *s.LeaseDurationSeconds, o.margin)
	default:
		err = errors.New("it was last renewed at " + s.RenewTime.UTC().Format(time.RFC3339))
	}
	seen.term = o.last.term
	if seen.holder != o.last.holder || !seen.acquired.Equal(o.last.acquired) {
		seen.term++
	}
	o.last = seen
	return err
}
