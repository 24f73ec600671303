package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// scheduler is a kube-scheduler's lease: 15 s, and a request may take 4 s.
type scheduler struct {
	*testing.T
	clocks
	api   *fake.Clientset
	reads int
	lease *coordinationv1.Lease // nil: it cannot be read
	slow  time.Duration
	*Observed
}

func newScheduler(t *testing.T) *scheduler {
	s := &scheduler{T: t, api: fake.NewClientset()}
	s.pass(time.Hour, time.Duration(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC).UnixNano()))
	s.api.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		s.reads++
		read := s.lease
		s.pass(s.slow, s.slow)
		if read == nil {
			return true, nil, errors.New("the API server is away")
		}
		return true, read.DeepCopy(), nil
	})
	s.Observed = Observe(s.api.CoordinationV1().Leases("stowage"), "kube-scheduler-stowage", "node-1", 4*time.Second)
	s.Observed.clock = s.clocks.now
	return s
}

func (s *scheduler) wall() *metav1.MicroTime {
	return &metav1.MicroTime{Time: time.Unix(0, int64(s.clocks.now().wall))}
}

func (s *scheduler) acquire(holder string) {
	seconds := int32(15)
	s.lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: s.wall(), RenewTime: s.wall(),
	}}
}

func (s *scheduler) renew() { s.lease.Spec.RenewTime = s.wall() }

// held checks that the lease is held, and returns the term.
func (s *scheduler) held() uint64 {
	s.Helper()
	if err := s.Check(s.Context()); err != nil {
		s.Error(err)
	}
	if s.Term() == 0 {
		s.Error("it is held, and the term is 0")
	}
	return s.Term()
}

func (s *scheduler) notHeld(why string) {
	s.Helper()
	if err := s.Check(s.Context()); err == nil || !strings.Contains(err.Error(), why) {
		s.Errorf("the lease is not held, and Check returns %v", err)
	}
	if s.Term() != 0 {
		s.Error("the lease is not held, and there is a term")
	}
}

func TestAnObservedLeaseIsHeldWhileItIsRenewed(t *testing.T) {
	s := newScheduler(t)
	if s.Term() != 0 {
		t.Error("it is held before it was read")
	}
	s.notHeld("the API server is away")
	s.acquire("node-1_a")
	term := s.held()
	for range 60 { // for two minutes
		s.pass(2*time.Second, 2*time.Second)
		s.renew()
		if s.held() != term {
			t.Fatal("the same process holds the lease, and the term is another one")
		}
	}
	if s.reads > 30 {
		t.Errorf("the lease was read %d times in two minutes", s.reads)
	}
}

func TestAnObservedLeaseThatWasNotRenewed(t *testing.T) {
	for name, pass := range map[string]func(*clocks){
		"a stopped process":              func(c *clocks) { c.pass(11*time.Second, 11*time.Second) },
		"a suspended machine":            func(c *clocks) { c.pass(time.Second, 11*time.Second) },
		"a wall clock that was set back": func(c *clocks) { c.pass(11*time.Second, -time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t)
			s.acquire("node-1_a")
			s.held()
			pass(&s.clocks)
			if s.Term() != 0 {
				t.Error("it is held")
			}
			s.notHeld("it was last renewed at 2026-11-23T00:00:00Z")
			s.renew()
			s.held()
		})
	}
	s := newScheduler(t)
	s.acquire("node-1_a")
	s.pass(11*time.Second, 11*time.Second)
	s.notHeld("it was last renewed at 2026-11-23T00:00:00Z")
	s.renew()
	s.held()
}

// Time passes by the monotonic clock since a renewal was first seen, however often the lease is read after that.
func TestAnObservedLeaseThatIsReadAgain(t *testing.T) {
	s := newScheduler(t)
	s.acquire("node-1_a")
	s.held()
	s.pass(0, -time.Minute)
	for range 2 {
		s.pass(5*time.Second, 5*time.Second)
		s.held()
	}
	s.pass(time.Second, time.Second)
	s.notHeld("it was last renewed at 2026-11-23T00:00:00Z")
}

// kube-scheduler was stopped together with the extender, and another one took over.
func TestAnObservedLeaseOfAnotherHost(t *testing.T) {
	s := newScheduler(t)
	s.acquire("node-1_a")
	first := s.held()
	s.pass(18*time.Second, 18*time.Second)
	for _, other := range []string{"node-2_b", "node-10_b", "node-1_b_c", "node-1", ""} {
		s.acquire(other)
		s.notHeld(`this host is "node-1"`)
	}
	s.acquire("node-1_c")
	if s.held() == first {
		t.Error("another process holds the lease, in the same term")
	}
}

// A response that was on its way while the process hung may be outdated, and does not renew the lease.
func TestAnObservedLeaseThatWasReadSlowly(t *testing.T) {
	s := newScheduler(t)
	s.acquire("node-1_a")
	s.slow = 11 * time.Second
	s.notHeld("it was last renewed at")
}

// kube-scheduler has given the lease back, and an answer from before that arrives last.
func TestAnObservedLeaseWhoseReadingsOvertakeEachOther(t *testing.T) {
	s := newScheduler(t)
	s.acquire("node-1_a")
	before, began := s.lease, s.clocks.now()
	s.pass(time.Second, time.Second)
	s.lease = &coordinationv1.Lease{}
	s.notHeld(`its holder is ""`)
	if err := s.observe(before, began); err == nil || s.Term() != 0 {
		t.Errorf("an earlier reading counts: %v, term %d", err, s.Term())
	}
}

func TestAnObservedLeaseThatIsShorterThanARequest(t *testing.T) {
	s := newScheduler(t)
	s.acquire("node-1_a")
	*s.lease.Spec.LeaseDurationSeconds = 4
	s.notHeld("its duration of 4 s does not exceed the maximum duration of a request, 4s")
}
