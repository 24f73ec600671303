package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/tap"
)

// filterMethod is a method whose calls pass the gate.
const filterMethod = "/stowage.v1.PlacementService/Filter"

// arrive begins a call, whose message has not arrived.
func arrive(ctx context.Context, g *Gate) (context.Context, error) {
	ctx, err := g.Enter(ctx, &tap.Info{FullMethodName: filterMethod})
	if err == nil {
		ctx = g.TagRPC(ctx, nil)
		g.HandleRPC(ctx, &stats.Begin{})
	}
	return ctx, err
}

// worked makes a call that has a seat for a while.
func worked(ctx context.Context, t *testing.T, g *Gate, takes time.Duration) {
	t.Helper()
	ctx, err := arrive(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	g.HandleRPC(ctx, &stats.InPayload{})
	lease := hold(ctx, t, g.limiter, time.Millisecond)
	time.Sleep(takes)
	lease.Release()
	g.HandleRPC(ctx, &stats.End{})
}

// contend makes another client have the only seat, and wait for it, until end is called.
func contend(t *testing.T, l *Limiter) (end func()) {
	t.Helper()
	lease := hold(WithClient(t.Context(), "b"), t, l, time.Millisecond)
	var all sync.WaitGroup
	all.Go(func() { hold(WithClient(t.Context(), "b"), t, l, time.Millisecond).Release() })
	synctest.Wait()
	return func() {
		lease.Release()
		all.Wait()
	}
}

// The gate refuses calls only if the wait alone is too long for them.
func TestGate(t *testing.T) {
	enter := func(ctx context.Context, g *Gate) (context.Context, error) {
		return g.Enter(ctx, &tap.Info{FullMethodName: filterMethod})
	}
	const calls = 2000
	for name, c := range map[string]struct {
		each             time.Duration // between the beginnings of two calls
		maxWait, timeout time.Duration
		refuses          bool
	}{
		"a burst":                  {each: 100 * time.Microsecond, maxWait: time.Second},
		"a burst with a deadline":  {each: 100 * time.Microsecond, maxWait: time.Second, timeout: 800 * time.Millisecond},
		"a third of the deadline":  {each: 100 * time.Microsecond, maxWait: time.Second, timeout: 550 * time.Millisecond, refuses: true},
		"much of the deadline":     {each: 200 * time.Microsecond, maxWait: time.Second, timeout: 500 * time.Millisecond, refuses: true},
		"longer than the deadline": {each: time.Millisecond, timeout: 500 * time.Millisecond, refuses: true},
		"longer than max-wait":     {each: time.Millisecond, maxWait: time.Second, refuses: true},
		"no bound":                 {each: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewGate(New(Settings{MaxWait: c.maxWait}), func(r *Refusal) error { return r })
				for range 3 {
					refused := 0
					var waiting []context.Context
					call := func() {
						ctx := t.Context()
						if c.timeout > 0 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, c.timeout)
							defer cancel()
						}
						ctx, err := enter(ctx, g)
						if r, ok := errors.AsType[*Refusal](err); ok && r.Reason == Behind {
							refused++
						} else if err != nil {
							t.Fatal(err)
						} else {
							waiting = append(waiting, ctx)
						}
					}
					for i := range calls {
						call()
						if i%8 == 0 { // some begin while others arrive
							time.Sleep(c.each)
							g.TagRPC(waiting[0], nil)
							waiting = waiting[1:]
						}
					}
					for _, ctx := range waiting {
						time.Sleep(c.each)
						g.TagRPC(ctx, nil)
					}
					waiting = nil
					if got := refused > 0; got != c.refuses {
						t.Errorf("%d calls are refused", refused)
					}
					time.Sleep(300 * time.Millisecond) // without calls, which says nothing about the pace
				}
			})
		})
	}
}

// While the gate refuses the calls of a client with many, or of many clients with as many calls each, it lets one with few in.
func TestGateSparesFewCalls(t *testing.T) {
	for _, clients := range []int{1, 50} {
		synctest.Test(t, func(t *testing.T) {
			g := NewGate(New(Settings{MaxWait: time.Second}), func(r *Refusal) error { return r })
			enter := func(client string) (context.Context, error) {
				return g.Enter(WithClient(t.Context(), client), &tap.Info{FullMethodName: filterMethod})
			}
			counters := g.arrivals.at(time.Now()).now.calls
			shared := map[*atomic.Int64]bool{}
			for i := range clients {
				shared[counters.Of(Client(WithClient(t.Context(), fmt.Sprint(i))))] = true
			}
			another := "another"
			for shared[counters.Of(Client(WithClient(t.Context(), another)))] {
				another += "."
			}
			const calls = 4000
			var hundredth context.Context
			refused, spared := 0, 0
			for i := range calls {
				ctx, err := enter(fmt.Sprint(i % clients))
				if i == 100 {
					hundredth = ctx
				} else if err != nil {
					refused++
				}
				if i == 200 { // the first ones begin late
					time.Sleep(200 * time.Millisecond)
					g.TagRPC(hundredth, nil)
				}
				if i%(4*clients) == 0 {
					if _, err := enter(another); err == nil {
						spared++
					}
				}
				time.Sleep(50 * time.Microsecond)
			}
			if few := (calls-1)/(4*clients) + 1; refused < calls/2 || spared != few {
				t.Errorf("%d clients: %d of %d calls refused, %d of %d let in", clients, refused, calls, spared, few)
			}
		})
	}
}

// While others wait for seats, the gate counts the calls whose messages are received: calls of a kind whose seats would come too late are
// refused, and let in again once that is known to take less.
func TestGateCountsWhatIsReceived(t *testing.T) {
	const takes = 20 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 1})
		g := NewGate(l, func(r *Refusal) error { return r })
		client := WithClient(t.Context(), "a")
		enter := func() (context.Context, error) {
			ctx, cancel := context.WithTimeout(client, time.Second)
			t.Cleanup(cancel)
			return arrive(ctx, g)
		}
		burst := func() (received []context.Context) {
			for range 1000 {
				ctx, err := enter()
				if err == nil {
					received = append(received, ctx)
				} else if r, ok := errors.AsType[*Refusal](err); !ok || r.Reason != Late {
					t.Fatal(err)
				}
			}
			return received
		}
		end := func(all []context.Context) {
			for i, ctx := range all {
				if i%2 == 0 {
					g.HandleRPC(ctx, &stats.InPayload{})
				}
				g.HandleRPC(ctx, &stats.End{Error: context.Canceled})
			}
		}
		for range 100 {
			worked(client, t, g, takes)
		}
		alone := burst()
		if len(alone) != 1000 {
			t.Errorf("%d calls are let in while none waits for a seat", len(alone))
		}
		end(alone)

		free := contend(t, l)
		received := burst()
		// A quarter of the second, of which another client has half.
		if n, want := len(received), int(time.Second/4/2/takes); n < want-1 || n > want+1 {
			t.Errorf("%d calls are let in, not about %d", n, want)
		}
		if _, err := g.Enter(WithClient(received[0], "few"), &tap.Info{FullMethodName: filterMethod}); err != nil {
			t.Error("a client with few calls:", err)
		}
		end(received)
		if again := burst(); len(again) != len(received) {
			t.Errorf("then %d calls are let in", len(again))
		} else {
			end(again)
		}
		free()

		for range 100 {
			worked(client, t, g, time.Millisecond/10)
		}
		defer contend(t, l)()
		if shorter := burst(); len(shorter) < 500 {
			t.Errorf("%d of calls that take less are let in", len(shorter))
		}
	})
}

// Calls that are answered without a seat, as their answers are remembered, do not count as calls that needed one once. Calls that
// fail without a seat say nothing.
func TestGateLearnsFromRememberedCalls(t *testing.T) {
	for name, c := range map[string]struct {
		end      error
		remember bool
	}{
		"answered": {nil, true},
		"failed":   {context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewGate(New(Settings{Seats: 1, MaxWait: time.Second}), func(r *Refusal) error { return r })
				client := WithClient(t.Context(), "a")
				for range 100 {
					worked(client, t, g, 50*time.Millisecond)
				}
				for range 1000 {
					ctx, err := arrive(client, g)
					if err != nil {
						t.Fatal(err)
					}
					g.HandleRPC(ctx, &stats.InPayload{})
					g.HandleRPC(ctx, &stats.End{Error: c.end})
				}
				defer contend(t, g.limiter)()
				in := 0
				for range 100 {
					ctx, cancel := context.WithTimeout(client, time.Second)
					defer cancel()
					if _, err := arrive(ctx, g); err == nil {
						in++
					}
				}
				if remember := in == 100; remember != c.remember {
					t.Errorf("%d of 100 calls are let in", in)
				}
			})
		})
	}
}

// A long call that is received lets others have a seat after a turn: only that counts for the longest wait. Calls that are as long
// end when it does, for which the deadline has to leave time.
func TestGateCountsOneTurnOfALongCall(t *testing.T) {
	const takes = 2 * time.Second
	for name, c := range map[string]struct {
		maxWait, timeout time.Duration
		in               int
	}{
		// Another client has half of the time.
		"max-wait":          {maxWait: time.Second, in: int(time.Second/2/longest) + 1},
		"no bound":          {in: 200},
		"a deadline":        {timeout: time.Minute, in: int(time.Minute/4/2/takes) + 1},
		"max-wait is first": {maxWait: time.Second, timeout: 2 * time.Hour, in: int(time.Second/2/longest) + 1},
		"deadline is first": {maxWait: time.Second, timeout: time.Minute, in: int(time.Minute/4/2/takes) + 1},
		"a short deadline":  {maxWait: time.Second, timeout: takes, in: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewGate(New(Settings{Seats: 1, MaxWait: c.maxWait}), func(r *Refusal) error { return r })
				client := WithClient(t.Context(), "a")
				for range 100 {
					worked(client, t, g, takes)
				}
				defer contend(t, g.limiter)()
				in := 0
				for range 200 {
					ctx, cancel := client, context.CancelFunc(func() {})
					if c.timeout > 0 {
						ctx, cancel = context.WithTimeout(client, c.timeout)
					}
					defer cancel()
					if _, err := arrive(ctx, g); err == nil {
						in++
					}
				}
				if in != c.in {
					t.Errorf("%d calls are let in, not %d", in, c.in)
				}
			})
		})
	}
}

// Calls that allow partial answers have a seat for as long as others. They do not wait until those have been worked on to the end.
func TestPartialCallsTeachTheirTime(t *testing.T) {
	const takes = time.Second
	for name, c := range map[string]struct {
		every int // which of the calls allow partial answers
		later time.Duration
		in    int
	}{
		"all":      {every: 1, in: int(2*takes/4/2/longest) + 1}, // another client has half of the time
		"some":     {every: 5, in: int(2*takes/4/2/longest) + 1},
		"none":     {every: 1000, in: 1},
		"long ago": {every: 1, later: lately, in: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := New(Settings{Seats: 1})
				g := NewGate(l, func(r *Refusal) error { return r })
				client := WithClient(t.Context(), "a")
				for i := range 100 {
					if i%c.every != c.every-1 {
						worked(client, t, g, takes)
						continue
					}
					ctx, err := arrive(client, g)
					if err != nil {
						t.Fatal(err)
					}
					g.HandleRPC(ctx, &stats.InPayload{})
					early, cancel := context.WithTimeout(ctx, takes)
					lease, err := l.AdmitUntil(ctx, early.Done(), 1, time.Millisecond, 1)
					if err != nil {
						t.Fatal(err)
					}
					<-early.Done()
					cancel()
					lease.Release()
					g.HandleRPC(ctx, &stats.End{})
				}
				if usual := time.Duration(g.kinds.Of(Client(client) + filterMethod).usual.Load()); usual < takes*9/10 || usual > takes {
					t.Errorf("they usually have a seat for %v", usual)
				}
				if ratio := l.speeds[1].ratio.Load(); ratio != 0 {
					t.Errorf("a part of the work is measured as the whole: %d", ratio)
				}
				time.Sleep(c.later)
				defer contend(t, l)()
				in := 0
				for range 200 {
					ctx, cancel := context.WithTimeout(client, 2*takes)
					defer cancel()
					if _, err := arrive(ctx, g); err == nil {
						in++
					}
				}
				if in != c.in {
					t.Errorf("%d calls are let in, not %d", in, c.in)
				}
			})
		})
	}
}

// A call that waits for its caller and for its turn at the same time has a seat for no less than no time.
func TestUsualIsNeverNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Settings{Seats: 1})
		g := NewGate(l, func(r *Refusal) error { return r })
		client := WithClient(t.Context(), "a")
		ctx, err := arrive(client, g)
		if err != nil {
			t.Fatal(err)
		}
		g.HandleRPC(ctx, &stats.InPayload{})
		lease := hold(ctx, t, l, time.Second)
		var others, own sync.WaitGroup
		for range 20 {
			others.Go(func() {
				other := hold(WithClient(t.Context(), "b"), t, l, slice)
				time.Sleep(slice)
				other.Release()
			})
		}
		synctest.Wait()
		own.Go(func() { // decodes
			time.Sleep(slice)
			_ = lease.Context(ctx).Err()
		})
		own.Go(func() { // receives
			for range 20 {
				if err := lease.Blocking(func() error { time.Sleep(slice - 1); return nil }); err != nil {
					t.Error(err)
				}
			}
		})
		own.Wait()
		lease.Release()
		others.Wait()
		g.HandleRPC(ctx, &stats.End{})
		if usual := time.Duration(g.kinds.Of(Client(client) + filterMethod).usual.Load()); usual < 0 {
			t.Errorf("they usually have a seat for %v", usual)
		}
		empty(t, l)
	})
}

// Clients rarely share what is known of their calls, and calls from hundreds of addresses reach few calls of others.
func TestKindsAreApart(t *testing.T) {
	g := NewGate(New(Settings{}), nil)
	kinds := func(clients string, n, methods int) (of map[*kind]int) {
		of = map[*kind]int{}
		for c := range n {
			for m := range methods {
				of[g.kinds.Of(fmt.Sprintf("host %s.%d/stowage.v1.PlacementService/%d", clients, c, m))]++
			}
		}
		return of
	}
	shared := 0
	for _, n := range kinds("10.0.0", 100, 5) {
		if n > 1 {
			shared += n
		}
	}
	if shared > 25 {
		t.Errorf("%d of 500 share a counter", shared)
	}
	hostile, reached := kinds("10.0.1", 300, 13), 0
	others := kinds("10.0.2", 1000, 1)
	for of := range others {
		if hostile[of] > 0 {
			reached++
		}
	}
	if reached > len(others)/10 {
		t.Errorf("300 addresses reach %d of %d counters of others", reached, len(others))
	}
}
