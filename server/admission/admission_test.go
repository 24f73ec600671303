package admission

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/peer"
)

// from returns a context of a client.
func from(ctx context.Context, name string) context.Context { return WithClient(ctx, name) }

// hold admits a request that must get a seat at once.
func hold(ctx context.Context, t *testing.T, l *Limiter, work time.Duration) *Lease {
	t.Helper()
	lease, err := l.Admit(ctx, 0, work, 1)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// empty checks that nothing is left in a limiter.
func empty(t *testing.T, l *Limiter) {
	t.Helper()
	if seats, waiting := l.Load(); seats != 0 || waiting != 0 {
		t.Errorf("at the end %d seats are in use, %d wait", seats, waiting)
	}
	for i := range l.queues.all {
		if q := &l.queues.all[i]; len(q.waiting) > 0 || q.running != 0 || q.ahead != 0 {
			t.Errorf("queue %d has %d waiting, %d running, %v ahead", i, len(q.waiting), q.running, q.ahead)
		}
	}
}

func TestSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 3})
		var now, most atomic.Int64
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				lease, err := l.Admit(from(t.Context(), string(rune('a'+i%5))), 0, time.Millisecond, 1)
				if err != nil {
					t.Error(err)
					return
				}
				n := now.Add(1)
				for {
					m := most.Load()
					if n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				time.Sleep(time.Millisecond)
				now.Add(-1)
				lease.Release()
			})
		}
		all.Wait()
		if most.Load() != 3 {
			t.Errorf("at most %d at a time", most.Load())
		}
		empty(t, l)
	})
}

func TestNoLimiter(t *testing.T) {
	var l *Limiter
	lease, err := l.Admit(t.Context(), 0, time.Hour, 1)
	if err != nil || lease.Context(t.Context()) != t.Context() || lease.Expect(time.Hour, 1) != nil {
		t.Error("no limiter limits", err)
	}
	if err := lease.Blocking(func() error { return net.ErrClosed }); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	lease.Release()
}

// apart returns a client that has a given number of queues in common with another.
func apart(l *Limiter, other string, common int) string {
	theirs := l.queues.hand(Client(from(context.Background(), other)))
	for i := 0; ; i++ {
		name, n := "client "+strconv.Itoa(i), 0
		for _, mine := range l.queues.hand(Client(from(context.Background(), name))) {
			if slices.Contains(theirs[:], mine) {
				n++
			}
		}
		if n == common {
			return name
		}
	}
}

// A client that asks for more does not get more: both have about half the work while both wait. Of two clients that share queues,
// which the hash decides, the modest one has the turns of the queues that it does not share.
func TestFairByWork(t *testing.T) {
	for name, c := range map[string]struct {
		greedy, modest time.Duration // work of a request
		many           int           // how many the greedy client asks at a time
		common         int           // queues that both have
		least          float64       // share of the modest client
	}{
		"more requests":   {time.Millisecond, time.Millisecond, 40, 0, .4},
		"larger requests": {20 * time.Millisecond, 2 * time.Millisecond, 4, 0, .4},
		"both":            {10 * time.Millisecond, time.Millisecond, 20, 0, .4},
		"a queue shared":  {time.Millisecond, time.Millisecond, 40, 1, .4},
		"two shared":      {time.Millisecond, time.Millisecond, 40, 2, .3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := New(Settings{Seats: 1})
				modest := apart(l, "greedy", c.common)
				worked := map[string]time.Duration{}
				ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
				defer stop()
				var all sync.WaitGroup
				var mutex sync.Mutex
				client := func(name string, work time.Duration) {
					for ctx.Err() == nil {
						lease, err := l.Admit(from(context.Background(), name), 0, work, 1)
						if err != nil {
							t.Error(err)
							return
						}
						asked := lease.Context(context.Background())
						for range work / time.Millisecond {
							time.Sleep(time.Millisecond)
							_ = asked.Err()
						}
						mutex.Lock()
						worked[name] += work
						mutex.Unlock()
						lease.Release()
					}
				}
				for range c.many {
					all.Go(func() { client("greedy", c.greedy) })
				}
				for range 8 { // as many as it has turns
					all.Go(func() { client(modest, c.modest) })
				}
				all.Wait()
				if share := worked[modest].Seconds() / (worked[modest] + worked["greedy"]).Seconds(); share < c.least || share > .6 {
					t.Errorf("the modest client has %.2f of the work: %v", share, worked)
				}
				empty(t, l)
			})
		})
	}
}

// Short requests do not wait for others' long ones, whoever came first.
func TestLongWorkGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 2})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				lease, err := l.Admit(from(ctx, "hostile"), 1, time.Hour, 1)
				if err != nil {
					return
				}
				defer lease.Release()
				for asked := lease.Context(ctx); asked.Err() == nil; {
					time.Sleep(200 * time.Microsecond)
				}
			})
		}
		synctest.Wait()
		time.Sleep(time.Second)
		for range 100 {
			begin := time.Now()
			lease := hold(from(t.Context(), "neighbour"), t, l, time.Millisecond)
			if waited := time.Since(begin); waited > 4*slice {
				t.Errorf("waited %v", waited)
			}
			time.Sleep(time.Millisecond)
			lease.Release()
			time.Sleep(time.Millisecond)
		}
		stop()
		all.Wait()
		empty(t, l)
	})
}

// A request gives its seat to others after a slice, unless the rest of its work is expected to end within another one.
func TestLittleRest(t *testing.T) {
	for name, c := range map[string]struct{ estimate, work, waits time.Duration }{
		"short":                 {estimate: slice / 2, work: slice / 2, waits: slice / 2},
		"a little longer":       {estimate: slice + slice/2, work: slice + slice/2, waits: slice + slice/2},
		"long":                  {estimate: time.Second, work: 4 * slice, waits: slice},
		"longer than expected":  {estimate: slice / 2, work: 4 * slice, waits: longest},
		"the rest of long work": {estimate: 3*slice + slice/2, work: 3*slice + slice/2, waits: slice},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := New(Settings{Seats: 1})
				begin := time.Now()
				lease := hold(from(t.Context(), "a"), t, l, c.estimate)
				var all sync.WaitGroup
				all.Go(func() {
					other := hold(from(t.Context(), "b"), t, l, time.Millisecond)
					if waited := time.Since(begin); waited < c.waits || waited > c.waits+pace {
						t.Errorf("another one waits for %v, not %v", waited, c.waits)
					}
					other.Release()
				})
				ctx := lease.Context(t.Context())
				for worked := time.Duration(0); worked < c.work; worked += pace / 2 {
					time.Sleep(pace / 2)
					_ = ctx.Err()
				}
				lease.Release()
				all.Wait()
				empty(t, l)
			})
		})
	}
}

// Goroutines of one request stop together when it is not its turn.
func TestAllGoroutinesGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 1})
		lease := hold(from(t.Context(), "a"), t, l, time.Second)
		ctx, stop := context.WithCancel(lease.Context(t.Context()))
		ctx = Within(ctx)
		var steps atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for ctx.Err() == nil {
					steps.Add(1)
					time.Sleep(100 * time.Microsecond)
				}
			})
		}
		time.Sleep(50 * time.Millisecond)
		other, err := l.Admit(from(t.Context(), "b"), 0, time.Millisecond, 1)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // the others get to where they look
		before := steps.Load()
		time.Sleep(50 * time.Millisecond)
		if after := steps.Load(); after != before {
			t.Errorf("%d steps without a seat", after-before)
		}
		other.Release()
		time.Sleep(20 * time.Millisecond)
		if steps.Load() == before {
			t.Error("it does not go on")
		}
		stop()
		all.Wait()
		lease.Release()
		empty(t, l)
	})
}

func TestRefusals(t *testing.T) {
	refused := func(ctx context.Context, t *testing.T, l *Limiter, work time.Duration, want Reason) {
		t.Helper()
		begin := time.Now()
		_, err := l.Admit(ctx, 0, work, 1)
		r, ok := errors.AsType[*Refusal](err)
		if !ok || r.Reason != want || r.After < minRetry || r.After > maxRetry {
			t.Errorf("got %v, want %v", err, want)
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("refused after %v", took)
		}
	}
	t.Run("deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := New(Settings{Seats: 1})
			soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			alone := hold(soon, t, l, time.Hour) // whatever it takes, as no call waits
			refused(soon, t, l, 20*time.Millisecond, Late)
			refused(soon, t, l, 1<<62, Late)
			alone.Release()
			empty(t, l)
		})
	})
	t.Run("deadline of others' work", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := New(Settings{Seats: 1})
			first := hold(t.Context(), t, l, time.Millisecond)
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					lease := hold(t.Context(), t, l, 4*time.Millisecond)
					time.Sleep(4 * time.Millisecond)
					lease.Release()
				})
			}
			synctest.Wait()
			soon, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
			defer cancel()
			refused(soon, t, l, 4*time.Millisecond, Late)
			first.Release()
			all.Wait()
			empty(t, l)
		})
	})
	t.Run("wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := New(Settings{Seats: 1, MaxWait: 3 * time.Millisecond})
			first := hold(t.Context(), t, l, time.Millisecond)
			var all sync.WaitGroup
			for range hand { // one for each queue of the client
				all.Go(func() { hold(t.Context(), t, l, 4*time.Millisecond).Release() })
			}
			synctest.Wait()
			refused(t.Context(), t, l, time.Millisecond, Long)
			first.Release()
			all.Wait()
			empty(t, l)
		})
	})
	t.Run("queue", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := New(Settings{Seats: 1})
			first := hold(t.Context(), t, l, time.Millisecond)
			var all sync.WaitGroup
			for range hand * queueLength {
				all.Go(func() { hold(t.Context(), t, l, time.Millisecond).Release() })
			}
			synctest.Wait()
			refused(t.Context(), t, l, time.Millisecond, Full)
			other, err := context.WithTimeout(from(t.Context(), "another"), time.Hour)
			defer err()
			all.Go(func() { hold(other, t, l, time.Millisecond).Release() })
			first.Release()
			all.Wait()
			empty(t, l)
		})
	})
}

// What became too late while it waited does not take a seat.
func TestLateInTheQueue(t *testing.T) {
	for name, c := range map[string]struct {
		waits time.Duration
		late  bool
	}{
		"too little time is left": {25 * time.Millisecond, true},
		"its work just fits":      {15 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := New(Settings{Seats: 1})
				first := hold(t.Context(), t, l, time.Millisecond)
				soon, cancel := context.WithTimeout(from(t.Context(), "b"), 30*time.Millisecond)
				defer cancel()
				var all sync.WaitGroup
				all.Go(func() {
					lease, err := l.Admit(soon, 0, 10*time.Millisecond, 1)
					defer lease.Release()
					r, _ := errors.AsType[*Refusal](err)
					if got := r != nil && r.Reason == Late; got != c.late || err != nil && !got {
						t.Errorf("got %v", err)
					}
				})
				time.Sleep(c.waits) // longer than was to be expected
				first.Release()
				all.Wait()
				empty(t, l)
			})
		})
	}
}

// What turns out to be too much is refused while others wait, and goes on otherwise.
func TestExpect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 1})
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		lease := hold(soon, t, l, time.Millisecond)
		if err := lease.Expect(time.Minute, 1); err != nil {
			t.Error("alone:", err)
		}
		var all sync.WaitGroup
		all.Go(func() { hold(from(t.Context(), "other"), t, l, time.Millisecond).Release() })
		synctest.Wait()
		if _, ok := errors.AsType[*Refusal](lease.Expect(time.Minute, 1)); !ok {
			t.Error("it is not refused while others wait")
		}
		lease.Release()
		all.Wait()
		empty(t, l)
	})
}

// A request with a seat that is over within its slice is not refused, however many of its client wait.
func TestExpectWithinTheSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 1})
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		lease := hold(soon, t, l, time.Millisecond)
		var all sync.WaitGroup
		for range 400 {
			all.Go(func() { hold(t.Context(), t, l, slice).Release() })
		}
		synctest.Wait()
		for _, within := range []time.Duration{slice, longest} {
			if err := lease.Expect(within, 1); err != nil {
				t.Errorf("%v: %v", within, err)
			}
		}
		if _, ok := errors.AsType[*Refusal](lease.Expect(longest+slice, 1)); !ok {
			t.Error("what waits behind the others is not refused")
		}
		lease.Release()
		all.Wait()
		empty(t, l)
	})
}

// A request that ends while it waits leaves nothing behind, whenever that is.
func TestEndedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 2})
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(from(t.Context(), string(rune('a'+i%7))))
				defer cancel()
				time.AfterFunc(time.Duration(i%13)*time.Millisecond, cancel)
				lease, err := l.Admit(ctx, 0, time.Millisecond, 1)
				if err != nil {
					return
				}
				for asked := lease.Context(ctx); asked.Err() == nil; {
					time.Sleep(time.Millisecond)
				}
				lease.Release()
			})
		}
		all.Wait()
		empty(t, l)
	})
}

// Who waits for a caller has no seat meanwhile.
func TestBlocking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 1})
		lease := hold(from(t.Context(), "slow reader"), t, l, time.Millisecond)
		var all sync.WaitGroup
		all.Go(func() {
			if err := lease.Blocking(func() error { time.Sleep(time.Minute); return nil }); err != nil {
				t.Error(err)
			}
			if seats, _ := l.Load(); seats != 1 {
				t.Errorf("%d seats afterwards", seats)
			}
			lease.Release()
		})
		begin := time.Now()
		hold(from(t.Context(), "other"), t, l, time.Millisecond).Release()
		if waited := time.Since(begin); waited > 2*slice {
			t.Errorf("waited %v", waited)
		}
		all.Wait()
		if err := hold(t.Context(), t, l, 1).Blocking(func() error { return net.ErrClosed }); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}

// Everything at once, for the race detector.
func TestAllAtOnce(t *testing.T) {
	l := New(Settings{Seats: 2})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for n := range 30 {
				ctx, cancel := context.WithTimeout(from(context.Background(), string(rune('a'+i%4))), time.Duration(1+n%7)*time.Millisecond)
				if lease, err := l.Admit(ctx, 0, time.Microsecond, 1); err == nil {
					asked := lease.Context(ctx)
					var parts sync.WaitGroup
					for range 2 {
						parts.Go(func() {
							for time.Since(lease.began) < 8*time.Millisecond {
								if asked.Err() != nil {
									return
								}
							}
						})
					}
					_ = lease.Blocking(func() error { time.Sleep(time.Duration(n%3) * slice); return nil })
					parts.Wait()
					lease.Release()
				}
				cancel()
			}
		})
	}
	all.Wait()
	empty(t, l)
}

// However requests get their seats, none waits for much longer than others: a queue that was idle has not saved turns up.
func TestNobodyStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 2})
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		var all sync.WaitGroup
		var most time.Duration
		var lock sync.Mutex
		for i := range 24 {
			all.Go(func() {
				name := from(context.Background(), string(rune('a'+i%6)))
				for n := 0; ctx.Err() == nil; n++ {
					if i%6 == n/50%6 { // each client pauses for a while
						time.Sleep(time.Second)
					}
					begin := time.Now()
					lease := hold(name, t, l, time.Millisecond)
					lock.Lock()
					most = max(most, time.Since(begin))
					lock.Unlock()
					if err := lease.Expect(time.Duration(1+n%9)*time.Millisecond, 1); err != nil {
						t.Error(err)
					}
					asked := lease.Context(context.Background())
					for range 1 + n%9 {
						time.Sleep(time.Millisecond)
						_ = asked.Err()
					}
					lease.Release()
				}
			})
		}
		all.Wait()
		if most > 24*2*longest {
			t.Errorf("somebody waited %v", most)
		}
		empty(t, l)
	})
}

func TestHands(t *testing.T) {
	q := &New(Settings{}).queues
	q.of(&Lease{ctx: t.Context()})
	dealt := map[int]int{}
	for i := range 1000 {
		h := q.hand(string(rune(i)))
		sorted := slices.Sorted(slices.Values(h[:]))
		if len(slices.Compact(sorted)) != hand {
			t.Fatalf("a hand has a queue twice: %v", h)
		}
		for _, c := range h {
			dealt[c]++
		}
	}
	for c := range queueCount {
		if n := dealt[c]; n < 1000*hand/queueCount/3 {
			t.Errorf("queue %d is dealt %d times", c, n)
		}
	}
}

func TestClients(t *testing.T) {
	at := func(address string) context.Context {
		a, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return peer.NewContext(t.Context(), &peer.Peer{Addr: a})
	}
	if a, b := Client(at("10.0.0.1:1")), Client(at("10.0.0.1:2")); a != b {
		t.Errorf("connections of a host are different clients: %s, %s", a, b)
	}
	if a, b := Client(at("10.0.0.1:1")), Client(at("10.0.0.2:1")); a == b {
		t.Errorf("hosts are one client: %s", a)
	}
	if a, b := Client(from(at("10.0.0.1:1"), "a")), Client(from(at("10.0.0.1:1"), "b")); a == b {
		t.Errorf("names are one client: %s", a)
	}
}

// Estimates follow measurements of their class.
func TestLearns(t *testing.T) {
	l := New(Settings{})
	for range 200 {
		l.learn(1, time.Millisecond, 3*time.Millisecond)
	}
	if got := l.expected(1, time.Second); got < 2900*time.Millisecond || got > 3100*time.Millisecond {
		t.Errorf("expected %v", got)
	}
	if got := l.expected(2, time.Second); got != time.Second {
		t.Errorf("another class: %v", got)
	}
	if got := l.expected(1, 1<<61); got <= 0 {
		t.Errorf("overflows: %v", got)
	}
}

func BenchmarkAdmit(b *testing.B) {
	l := New(Settings{})
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		lease, err := l.Admit(ctx, 0, time.Millisecond, 1)
		if err != nil {
			b.Fatal(err)
		}
		_ = lease.Context(ctx)
		lease.Release()
	}
}

func BenchmarkErr(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.Run("without", func(b *testing.B) {
		for b.Loop() {
			_ = ctx.Err()
		}
	})
	b.Run("with", func(b *testing.B) {
		lease, err := New(Settings{}).Admit(ctx, 0, 1, 1)
		if err != nil {
			b.Fatal(err)
		}
		of := lease.Context(ctx)
		for b.Loop() {
			_ = of.Err()
		}
	})
}

// A request that allows a partial answer is refused for no estimate. If it gets no turn until that has to be sent, it learns of it
// in time.
func TestPartial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 1})
		first := hold(from(t.Context(), "other"), t, l, time.Millisecond)
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		early, cancelEarly := context.WithTimeout(soon, 800*time.Millisecond)
		defer cancelEarly()
		var all sync.WaitGroup
		all.Go(func() {
			lease, err := l.AdmitUntil(soon, early.Done(), 1, time.Hour, 1)
			if err != nil {
				t.Error(err)
				return
			}
			if err := lease.Expect(1<<62, 1); err != nil {
				t.Error(err)
			}
			asked := Until(WithClient(lease.Context(early), ""))
			for asked.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			if soon.Err() != nil {
				t.Error("it waits for a turn until its deadline")
			}
			lease.Release()
		})
		time.Sleep(100 * time.Millisecond)
		first.Release()
		time.Sleep(100 * time.Millisecond)
		other := hold(from(t.Context(), "other"), t, l, time.Millisecond) // and keeps the seat
		if _, err := l.AdmitUntil(soon, early.Done(), 1, time.Hour, 1); err == nil {
			t.Error("there is no seat")
		} else if r, ok := errors.AsType[*Refusal](err); !ok || r.Reason != Late || soon.Err() != nil {
			t.Error(err)
		}
		all.Wait()
		other.Release()
		empty(t, l)
		if ratio := l.speeds[1].ratio.Load(); ratio != 0 {
			t.Errorf("a part of the work is measured as the whole: %d", ratio)
		}
	})
}

// Waiting for the caller is not work, and one odd request says little about others.
func TestMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 1})
		for range 40 {
			lease := hold(t.Context(), t, l, 40*time.Microsecond)
			if err := lease.Blocking(func() error { time.Sleep(3 * time.Millisecond); return nil }); err != nil {
				t.Error(err)
			}
			lease.Release()
		}
		if got := l.expected(0, time.Second); got > time.Second {
			t.Errorf("expected %v after waiting", got)
		}
		l.learn(1, time.Millisecond, time.Hour)
		if got := l.expected(1, time.Second); got > 1200*time.Millisecond {
			t.Errorf("expected %v after one", got)
		}
		l.learn(2, 1, 1<<62)
		if got := l.expected(2, time.Second); got < time.Second {
			t.Errorf("expected %v after an overflow", got)
		}
	})
}
