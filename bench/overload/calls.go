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
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/bench/loopback"
	"github.com/stowage-scheduler/stowage/clients/stowage"
)

const (
	// connections is the number of connections of the callers.
	connections = 4
	// every is how often the server that does nothing is called.
	every = 10 * time.Millisecond
)

// callers are connections to call by.
type callers struct {
	connections []*loopback.Client
	// idle is a connection to a server that receives requests and does nothing.
	idle *loopback.Client
	sent atomic.Int64
}

// dial connects. Callers that hold back do so as clients/stowage does.
func dial(address, idle string, holdBack bool) (*callers, error) {
	c := new(callers)
	var err error
	if c.idle, err = loopback.Dial(idle); err != nil {
		return nil, err
	}
	through := []grpc.UnaryClientInterceptor{c.count}
	if holdBack {
		through = []grpc.UnaryClientInterceptor{stowage.NewThrottle().Unary, c.count}
	}
	for range connections {
		client, err := loopback.Dial(address, through...)
		if err != nil {
			c.close()
			return nil, err
		}
		c.connections = append(c.connections, client)
	}
	return c, nil
}

func (c *callers) count(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	c.sent.Add(1)
	return invoke(ctx, method, request, reply, conn, options...)
}

func (c *callers) close() {
	for _, client := range append(c.connections, c.idle) {
		_ = client.Close()
	}
}

// closed returns the calls per second of callers who wait for each answer, the most of several numbers of them.
func (c *callers) closed(ctx context.Context, f *form, duration time.Duration) (peak float64, err error) {
	for _, n := range []int{runtime.GOMAXPROCS(0), 4 * runtime.GOMAXPROCS(0)} {
		var all sync.WaitGroup
		var calls atomic.Int64
		var failed atomic.Pointer[error]
		idle := c.watch(ctx, f) // as beside the loads
		begin := time.Now()
		for i := range n {
			all.Go(func() {
				for time.Since(begin) < duration && ctx.Err() == nil {
					if _, err := c.connections[i%connections].CallLate(ctx, f.method, f.next); err != nil {
						failed.Store(&err)
						return
					}
					calls.Add(1)
				}
			})
		}
		all.Wait()
		idle()
		if err := failed.Load(); err != nil {
			return 0, fmt.Errorf("%s: %w", f.name, *err)
		}
		peak = max(peak, float64(calls.Load())/time.Since(begin).Seconds())
	}
	return peak, ctx.Err()
}

// result is the outcome of calls.
type result struct {
	over      time.Duration
	sent      int64
	answers   int64
	latencies []time.Duration // of calls that were not refused, from when they were due
	refused   []time.Duration // from when the call was made
	lags      []time.Duration
	floor     []time.Duration // of the same requests at a server that receives them and does nothing
	others    map[string]int
	// unexplained is the number of refusals without RetryInfo. late is the number of calls that this process made only after their
	// deadline.
	unexplained, late int
}

// open sends calls at a rate. Each has a deadline from when it is due, unless that is 0.
func (c *callers) open(ctx context.Context, f *form, rate float64, duration, deadline time.Duration) *result {
	interval := time.Duration(float64(time.Second) / rate)
	r := &result{over: duration, others: map[string]int{}}
	var lock sync.Mutex
	var all sync.WaitGroup
	sent := c.sent.Load()
	idle := c.watch(ctx, f)
	begin := time.Now()
	for i := range max(1, int(duration/interval)) {
		due := begin.Add(time.Duration(i) * interval)
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		all.Go(func() {
			began := time.Now()
			if deadline > 0 && began.Sub(due) >= deadline {
				lock.Lock()
				defer lock.Unlock()
				r.late++
				return
			}
			call, cancel := ctx, context.CancelFunc(func() {})
			if deadline > 0 {
				call, cancel = context.WithDeadline(ctx, due.Add(deadline))
			}
			_, err := c.connections[i%connections].CallLate(call, f.method, f.next)
			cancel()
			end := time.Now()
			lock.Lock()
			defer lock.Unlock()
			r.lags = append(r.lags, began.Sub(due))
			switch code := status.Code(err); code {
			case codes.OK:
				r.answers++
				r.latencies = append(r.latencies, end.Sub(due))
			case codes.DeadlineExceeded: // it was accepted, and was late
				r.latencies = append(r.latencies, end.Sub(due))
			case codes.ResourceExhausted:
				r.refused = append(r.refused, end.Sub(began))
				if retryAfter(err) <= 0 {
					r.unexplained++
				}
			default:
				r.others[code.String()]++
			}
		})
	}
	all.Wait()
	r.sent = c.sent.Load() - sent
	r.floor = idle()
	for _, l := range [][]time.Duration{r.latencies, r.refused, r.lags, r.floor} {
		slices.Sort(l)
	}
	return r
}

// watch calls the server that does nothing until its result is called, which returns how long the calls took.
func (c *callers) watch(ctx context.Context, f *form) (stop func() []time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan []time.Duration)
	go func() {
		var took []time.Duration
		for ctx.Err() == nil {
			begin := time.Now()
			if err := c.idle.Count(ctx, f.request); err == nil {
				took = append(took, time.Since(begin))
			}
			time.Sleep(time.Until(begin.Add(every)))
		}
		ended <- took
	}()
	return func() []time.Duration {
		cancel()
		return <-ended
	}
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

func (r *result) perSecond(n int) float64 { return float64(n) / r.over.Seconds() }

func (r *result) rate() float64          { return r.perSecond(int(r.answers)) }
func (r *result) p50() time.Duration     { return percentile(r.latencies, 50) }
func (r *result) p99() time.Duration     { return percentile(r.latencies, 99) }
func (r *result) refusal() time.Duration { return percentile(r.refused, 99) }
func (r *result) lag() time.Duration     { return percentile(r.lags, 99) }
func (r *result) least() time.Duration   { return percentile(r.floor, 99) }

// overdue is the share of accepted calls that ended at their deadline.
func (r *result) overdue() float64 { return 1 - float64(r.answers)/float64(max(len(r.latencies), 1)) }

func (r *result) otherErrors() string {
	var out []string
	for code, n := range r.others {
		out = append(out, fmt.Sprintf("%d %s", n, code))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

var errUnhealthy = errors.New("the server is not healthy")

// percentile returns the smallest of the sorted values that at least the given percentage of the values do not exceed.
func percentile(sorted []time.Duration, percentage int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percentage+99)/100-1)]
}
