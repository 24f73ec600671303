package lease

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const holds = 10 * time.Second

// clocks are two clocks that are set by hand.
type clocks struct {
	mutex sync.Mutex
	at    instant
}

func (c *clocks) now() instant {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.at
}

// pass lets time pass on the monotonic and on the wall clock.
func (c *clocks) pass(running, wall time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.at.running += running
	c.at.wall += wall
}

type world struct {
	*testing.T
	clocks
	api *fake.Clientset
	*Lock
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, api: fake.NewClientset()}
	w.Lock = w.lockOf("this")
	return w
}

func (w *world) lockOf(identity string) *Lock {
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, "stowage", "lease", w.api.CoreV1(), w.api.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: identity})
	w.must(err)
	l := New(lock, holds)
	l.clock = w.now
	return l
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func record(holder string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: 15}
}

func (w *world) acquire() (term uint64) {
	w.Helper()
	w.must(w.Create(w.Context(), record("this")))
	if term = w.Term(); term == 0 {
		w.Fatal("the lease is not held")
	}
	return term
}

func TestALeaseIsHeldWhileItIsRenewedInTime(t *testing.T) {
	w := newWorld(t)
	if w.Term() != 0 {
		t.Error("it is held before it was acquired")
	}
	term := w.acquire()
	for range 5 {
		w.pass(holds-1, holds-1)
		if w.Term() != term {
			t.Error("it is not held though it was renewed")
		}
		w.must(w.Update(t.Context(), record("this")))
	}
	if w.Term() != term {
		t.Error("the term is another one")
	}
	w.must(w.Update(t.Context(), record("")))
	if w.Term() != 0 {
		t.Error("it is held after it was given back")
	}
}

// A process that hung finds that it does not hold the lease, and that nothing from before counts if it gets it again.
func TestALeaseThatWasNotRenewedInTimeIsNotHeld(t *testing.T) {
	for name, pass := range map[string]func(*clocks){
		"a stopped process":                       func(c *clocks) { c.pass(holds, holds) },
		"a suspended machine":                     func(c *clocks) { c.pass(time.Second, holds) },
		"a wall clock that was set back":          func(c *clocks) { c.pass(holds, -time.Hour) },
		"a wall clock that stood still meanwhile": func(c *clocks) { c.pass(holds, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			term := w.acquire()
			pass(&w.clocks)
			if w.Term() != 0 {
				t.Error("it is held")
			}
			w.must(w.Update(t.Context(), record("this")))
			if got := w.Term(); got == 0 || got == term {
				t.Errorf("it was acquired again, and the term is %d after %d", got, term)
			}
		})
	}
}

// What counts is when a renewal began: the others measure from when it was written.
func TestARenewalWhoseAnswerCameLateIsOld(t *testing.T) {
	w := newWorld(t)
	w.acquire()
	slow := &slowLock{Interface: w.Lock.Interface, during: func() { w.pass(holds, holds) }}
	w.Lock.Interface = slow
	w.must(w.Update(t.Context(), record("this")))
	if w.Term() != 0 {
		t.Error("it is held by an answer that came too late")
	}
}

type slowLock struct {
	resourcelock.Interface
	during func()
}

func (l *slowLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Update(ctx, record)
	l.during()
	return err
}

func TestALeaseThatAnotherHoldsIsNotHeld(t *testing.T) {
	w := newWorld(t)
	w.acquire()
	other := w.lockOf("other")
	_, _, err := other.Get(t.Context())
	w.must(err)
	w.must(other.Update(t.Context(), record("other")))
	if w.Term() == 0 {
		t.Error("somebody has already reported it")
	}
	_, _, err = w.Get(t.Context())
	w.must(err)
	if w.Term() != 0 {
		t.Error("it is held, and the API server says that another holds it")
	}
	if other.Term() == 0 {
		t.Error("the other does not hold it")
	}
}

func TestNothingIsSentWhileTheLeaseIsNotHeld(t *testing.T) {
	w := newWorld(t)
	w.acquire()
	served := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport := server.Client().Transport.(*http.Transport)
	dial, dials := Dialer(w.Term, time.Second), 0
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return dial(ctx, network, address)
	}
	post := func() error {
		r, err := server.Client().Post(server.URL, "text/plain", strings.NewReader("bind"))
		if err != nil {
			return err
		}
		if r.ProtoMajor != 2 {
			t.Errorf("spoken in %s, as client-go does not", r.Proto)
		}
		return r.Body.Close()
	}
	w.must(post())
	w.pass(holds, holds)
	for range 2 { // by the connection that is there, and by another one
		if post() == nil {
			t.Error("a request is answered")
		}
	}
	if served != 1 {
		t.Errorf("%d requests were served, one of them was sent in time", served)
	}
	w.must(w.Update(t.Context(), record("this")))
	w.must(post())
	// No call checked the lease while it was not held, and the connection may still have requests to send.
	w.pass(holds, holds)
	w.must(w.Update(t.Context(), record("this")))
	before, want := dials, 3
	if post() == nil {
		want++ // what the connection wrote by itself has ended it before
	}
	w.must(post())
	if dials == before {
		t.Error("a connection of an earlier term is used")
	}
	if served != want {
		t.Errorf("%d requests were served, want %d", served, want)
	}
}
