package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/bench/load/report"
	"github.com/stowage-scheduler/stowage/bench/loopback"
)

// connections is the number of connections of the callers.
const connections = 4

// callers are connections to call by.
type callers struct{ connections []*loopback.Client }

func dial(address string) (*callers, error) {
	c := new(callers)
	for range connections {
		client, err := loopback.Dial(address)
		if err != nil {
			c.close()
			return nil, err
		}
		c.connections = append(c.connections, client)
	}
	return c, nil
}

func (c *callers) close() {
	for _, client := range c.connections {
		_ = client.Close()
	}
}

// closed returns the calls per second of callers who wait for each answer, the most of several numbers of them.
func (c *callers) closed(ctx context.Context, f *form, duration time.Duration) (peak float64, err error) {
	for _, n := range []int{runtime.GOMAXPROCS(0), 4 * runtime.GOMAXPROCS(0)} {
		var all sync.WaitGroup
		var calls atomic.Int64
		var failed atomic.Pointer[error]
		begin := time.Now()
		for i := range n {
			all.Go(func() {
				for time.Since(begin) < duration && ctx.Err() == nil {
					if _, err := c.connections[i%connections].Call(ctx, f.method, f.next()); err != nil {
						failed.Store(&err)
						return
					}
					calls.Add(1)
				}
			})
		}
		all.Wait()
		if err := failed.Load(); err != nil {
			return 0, fmt.Errorf("%s: %w", f.name, *err)
		}
		peak = max(peak, float64(calls.Load())/time.Since(begin).Seconds())
	}
	return peak, ctx.Err()
}

// result is what became of calls.
type result struct {
	over      time.Duration
	latencies []time.Duration // of answers, from when the call was due
	refused   []time.Duration // from when the call was sent
	lags      []time.Duration
	others    map[string]int
	// unexplained is the number of refusals without RetryInfo.
	unexplained int
}

// open sends calls at a rate. Each has a deadline from when it is due, unless that is 0.
func (c *callers) open(ctx context.Context, f *form, rate float64, duration, deadline time.Duration) *result {
	interval := time.Duration(float64(time.Second) / rate)
	r := &result{over: duration, others: map[string]int{}}
	var lock sync.Mutex
	var all sync.WaitGroup
	begin := time.Now()
	for i := range max(1, int(duration/interval)) {
		due := begin.Add(time.Duration(i) * interval)
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		all.Go(func() {
			sent := time.Now()
			call, cancel := ctx, context.CancelFunc(func() {})
			if deadline > 0 {
				call, cancel = context.WithDeadline(ctx, due.Add(deadline))
			}
			_, err := c.connections[i%connections].Call(call, f.method, f.next())
			cancel()
			end := time.Now()
			lock.Lock()
			defer lock.Unlock()
			r.lags = append(r.lags, sent.Sub(due))
			switch code := status.Code(err); code {
			case codes.OK:
				r.latencies = append(r.latencies, end.Sub(due))
			case codes.ResourceExhausted:
				r.refused = append(r.refused, end.Sub(sent))
				if retryAfter(err) <= 0 {
					r.unexplained++
				}
			default:
				r.others[code.String()]++
			}
		})
	}
	all.Wait()
	for _, l := range [][]time.Duration{r.latencies, r.refused, r.lags} {
		slices.Sort(l)
	}
	return r
}

// retryAfter returns the delay of RetryInfo, 0 if there is none.
func retryAfter(err error) time.Duration {
	for _, d := range status.Convert(err).Details() {
		if d, ok := d.(*errdetails.RetryInfo); ok {
			return d.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

func (r *result) rate() float64          { return float64(len(r.latencies)) / r.over.Seconds() }
func (r *result) p50() time.Duration     { return report.Percentile(r.latencies, 50) }
func (r *result) p99() time.Duration     { return report.Percentile(r.latencies, 99) }
func (r *result) refusal() time.Duration { return report.Percentile(r.refused, 99) }
func (r *result) lag() time.Duration     { return report.Percentile(r.lags, 99) }

func (r *result) otherErrors() string {
	var out []string
	for code, n := range r.others {
		out = append(out, fmt.Sprintf("%d %s", n, code))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

var errUnhealthy = errors.New("the server is not healthy")
