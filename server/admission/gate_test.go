package admission

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/tap"
)

// The gate refuses calls only if the wait alone is too long for them.
func TestGate(t *testing.T) {
	enter := func(ctx context.Context, g *Gate) (context.Context, error) {
		return g.Enter(ctx, &tap.Info{FullMethodName: "/stowage.v1.PlacementService/Filter"})
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
				return g.Enter(WithClient(t.Context(), client), &tap.Info{FullMethodName: "/stowage.v1.PlacementService/Filter"})
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
