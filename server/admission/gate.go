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
	// fewBehind is the number of calls that may be behind the connections in any case, and enoughBehind that from which on their
	// pace is measured.
	fewBehind, enoughBehind = 64, 16
	// stale is when a measurement of the handlers' pace is forgotten.
	stale = time.Second
)

// Gate refuses calls when their headers arrive, before their messages are received: those of clients whose queues are full, and
// when handlers are so far behind that calls would begin too late, all but those of clients that have made few of the calls.
// Refusing a call then costs a tenth of what refusing it later does. It is a tap.ServerInHandle and a stats.Handler of a server.
//
// Calls begin about in the order in which they arrive. The number of the last one that began therefore tells how many have not,
// and nothing has to be taken back for calls that end before they begin.
type Gate struct {
	limiter *Limiter
	// error is what a call is refused with.
	error func(*Refusal) error

	arrivals       arrivals
	arrived, begun atomic.Int64
	// pace is how long a call waited, for each call that was behind when it arrived, and last when that was measured, both in
	// nanoseconds.
	last, pace atomic.Int64
}

// NewGate returns the gate of a limiter.
func NewGate(l *Limiter, err func(*Refusal) error) *Gate {
	return &Gate{limiter: l, error: err}
}

type arrivalKey struct{}

// arrival is a call that has not begun.
type arrival struct {
	number, behind int64
	at             time.Time
}

// Enter implements tap.ServerInHandle.
func (g *Gate) Enter(ctx context.Context, call *tap.Info) (context.Context, error) {
	if strings.HasPrefix(call.FullMethodName, "/grpc.") || strings.HasSuffix(call.FullMethodName, "/GetServerInfo") {
		return ctx, nil
	}
	client, now := Client(ctx), time.Now()
	many := g.arrivals.add(client, now)
	if g.limiter.contended() && g.limiter.queues.full(client) {
		return ctx, g.refuse(ctx, &Refusal{Full, 4 * minRetry})
	}
	behind := g.arrived.Load() - g.begun.Load()
	if wait := time.Duration(behind * g.pace.Load()); many && behind > fewBehind && g.tooLong(ctx, wait) {
		return ctx, g.refuse(ctx, &Refusal{Behind, min(max(wait, minRetry), maxRetry)})
	}
	return context.WithValue(ctx, arrivalKey{}, &arrival{g.arrived.Add(1), behind, now}), nil
}

// tooLong reports whether a call that waits that long for its handler is not expected to be answered in time. The time left must be
// more than the wait: its message has to be received, decided and answered.
func (g *Gate) tooLong(ctx context.Context, wait time.Duration) bool {
	if time.Duration(time.Now().UnixNano()-g.last.Load()) > stale {
		return false
	}
	if most := g.limiter.maxWait; most > 0 && wait > most {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && late(deadline, wait, 0)
}

func (g *Gate) refuse(ctx context.Context, r *Refusal) error {
	if o := g.limiter.observer; o != nil {
		o.Refused(ctx, r.Reason)
	}
	return g.error(r)
}

// TagRPC implements stats.Handler: the handler of a call begins.
func (g *Gate) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	call, ok := ctx.Value(arrivalKey{}).(*arrival)
	if !ok {
		return ctx
	}
	for {
		begun := g.begun.Load()
		if call.number <= begun || g.begun.CompareAndSwap(begun, call.number) {
			break
		}
	}
	if call.behind < enoughBehind {
		return ctx
	}
	now := time.Now()
	pace := int64(now.Sub(call.at)) / call.behind
	if was := g.pace.Load(); time.Duration(now.UnixNano()-g.last.Swap(now.UnixNano())) < stale {
		pace = was + (pace-was)/16
	}
	g.pace.Store(pace)
	return ctx
}

// HandleRPC implements stats.Handler.
func (g *Gate) HandleRPC(context.Context, stats.RPCStats) {}

// TagConn implements stats.Handler.
func (g *Gate) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (g *Gate) HandleConn(context.Context, stats.ConnStats) {}
