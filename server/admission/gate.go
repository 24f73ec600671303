package admission

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/tap"
)

const (
	// mostBehind is how far the handlers of calls may be behind the connections, in time and in calls.
	mostBehind, fewBehind = 5 * time.Millisecond, 32
	// stale is when a measurement of the handlers' pace is forgotten.
	stale = time.Second
)

// Gate refuses calls when their headers arrive, before their messages are received: those of clients whose queues are full, and
// all when handlers are far behind. Refusing a call then costs a tenth of what refusing it later does. It is a tap.ServerInHandle
// and a stats.Handler of a server.
//
// Calls begin about in the order in which they arrive. The number of the last one that began therefore tells how many have not,
// and nothing has to be taken back for calls that end before they begin.
type Gate struct {
	limiter *Limiter
	// error is what a call is refused with.
	error func(*Refusal) error

	arrived, begun atomic.Int64
	// last is when a call began, pace how much time there was between two while calls were behind, both in nanoseconds.
	last, pace atomic.Int64
}

// NewGate returns the gate of a limiter.
func NewGate(l *Limiter, err func(*Refusal) error) *Gate { return &Gate{limiter: l, error: err} }

type arrivalKey struct{}

// Enter implements tap.ServerInHandle.
func (g *Gate) Enter(ctx context.Context, call *tap.Info) (context.Context, error) {
	if strings.HasPrefix(call.FullMethodName, "/grpc.") {
		return ctx, nil
	}
	if g.limiter.contended() && g.limiter.queues.full(clientOf(ctx)) {
		return ctx, g.refuse(ctx, &Refusal{Full, 4 * minRetry})
	}
	if behind := g.arrived.Load() - g.begun.Load(); behind > fewBehind {
		wait := time.Duration(behind * g.pace.Load())
		most := mostBehind
		if deadline, ok := ctx.Deadline(); ok {
			most = min(most, time.Until(deadline)/4)
		}
		if wait > most && time.Duration(time.Now().UnixNano()-g.last.Load()) < stale {
			return ctx, g.refuse(ctx, &Refusal{Behind, min(max(2*wait, minRetry), maxRetry)})
		}
	}
	return context.WithValue(ctx, arrivalKey{}, g.arrived.Add(1)), nil
}

func (g *Gate) refuse(ctx context.Context, r *Refusal) error {
	if o := g.limiter.observer; o != nil {
		o.Refused(ctx, r.Reason)
	}
	return g.error(r)
}

// TagRPC implements stats.Handler: the handler of a call begins.
func (g *Gate) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	number, ok := ctx.Value(arrivalKey{}).(int64)
	if !ok {
		return ctx
	}
	for {
		begun := g.begun.Load()
		if number <= begun || g.begun.CompareAndSwap(begun, number) {
			break
		}
	}
	now := time.Now().UnixNano()
	took := now - g.last.Swap(now)
	if g.arrived.Load() == number { // nobody was behind: the time went by without calls
		return ctx
	}
	pace := g.pace.Load()
	g.pace.Store(pace + (min(took, int64(mostBehind))-pace)/16)
	return ctx
}

// HandleRPC implements stats.Handler.
func (g *Gate) HandleRPC(context.Context, stats.RPCStats) {}

// TagConn implements stats.Handler.
func (g *Gate) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (g *Gate) HandleConn(context.Context, stats.ConnStats) {}
