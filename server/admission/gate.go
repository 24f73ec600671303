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
	// fewBehind is the number of calls that may always be behind the connections. From enoughBehind calls on their pace is measured.
	fewBehind, enoughBehind = 64, 16
	// stale is the age at which a measurement of the handlers' pace is ignored.
	stale = time.Second
	// lately is how long a client that sent calls allowing partial answers is expected to send more.
	lately = time.Minute
	// manyKinds is the number of counters of kinds. They take 1.5 MiB. A client that uses all methods from hundreds of addresses
	// then shares few counters with other clients.
	manyKinds = 1 << 16
)

// Gate refuses calls when their headers arrive, before their messages are received. It refuses calls of clients whose queues are
// full. It also refuses calls that would begin too late, unless their client has made few of the calls. Refusing a call here costs a
// tenth of refusing it later, and less if its message is large. Gate is a tap.ServerInHandle and a stats.Handler.
//
// Calls wait for handlers, which may be behind the connections, and for seats.
//
// Calls begin about in the order in which they arrive. The difference between the numbers of the last arrival and of the last call
// that began is therefore the backlog, and calls that end before they begin need no correction.
type Gate struct {
	limiter *Limiter
	// error builds the error of a refused call.
	error func(*Refusal) error

	kinds          *ByClient[kind] // by the method as well
	arrivals       arrivals
	arrived, begun atomic.Int64
	// pace is how long a call waited, for each call that was behind when it arrived, and last when that was measured, both in
	// nanoseconds.
	pace average
	last atomic.Int64
}

// NewGate returns the gate of a limiter.
func NewGate(l *Limiter, err func(*Refusal) error) *Gate {
	return &Gate{limiter: l, error: err, kinds: NewByClient[kind](manyKinds)}
}

type arrivalKey struct{}

// arrival is a call that was let in, until it ends.
type arrival struct {
	number, behind int64
	at             time.Time
	kind           *kind
	// received reports whether its first message is there, or will not come, and sat whether it had a seat and gave it back.
	received, sat atomic.Bool
}

// kind is the calls of a method by a client.
type kind struct {
	// usual is the time for which such a call has a seat, in nanoseconds: 0 for cached answers. receiving is the number of such
	// calls that have begun and wait for their message.
	usual     average
	receiving atomic.Int64
	// partial is when such a call that allows a partial answer last gave its seat back, in nanoseconds.
	partial atomic.Int64
}

// ahead is the work that is being received: the parts before the first turn of the next call, and before the next call's end. A call
// that allows a partial answer does not wait for others to end. Its headers do not say so: calls of the client before it do.
func (k *kind) ahead(now time.Time) (turns, whole time.Duration) {
	n, usual := max(k.receiving.Load(), 0), k.usual.Load()
	turns, whole = time.Duration(n*min(usual, int64(longest))), time.Duration(n*usual)
	if time.Duration(now.UnixNano()-k.partial.Load()) < lately {
		whole = turns
	}
	return turns, whole
}

// Enter implements tap.ServerInHandle.
func (g *Gate) Enter(ctx context.Context, call *tap.Info) (context.Context, error) {
	if strings.HasPrefix(call.FullMethodName, "/grpc.") || strings.HasSuffix(call.FullMethodName, "/GetServerInfo") {
		return ctx, nil
	}
	client, now := Client(ctx), time.Now()
	many := g.arrivals.add(client, now)
	kind := g.kinds.Of(client + call.FullMethodName)
	if g.limiter.contended() {
		queues := &g.limiter.queues
		own := queues.hand(client)
		if queues.full(own) {
			return ctx, g.refuse(ctx, &Refusal{Full, 4 * minRetry})
		}
		if many {
			turns, whole := kind.ahead(now)
			wait, all := queues.foresee(own, turns, whole)
			if r := g.tooLong(ctx, wait, all); r != nil {
				return ctx, g.refuse(ctx, r)
			}
		}
	}
	behind := g.arrived.Load() - g.begun.Load()
	if many && behind > fewBehind && g.measured() {
		wait := time.Duration(behind * g.pace.Load())
		if r := g.tooLong(ctx, wait, wait); r != nil {
			return ctx, g.refuse(ctx, &Refusal{Behind, r.After})
		}
	}
	return context.WithValue(ctx, arrivalKey{}, &arrival{number: g.arrived.Add(1), behind: behind, at: now, kind: kind}), nil
}

// measured reports whether the handlers' pace was measured lately.
func (g *Gate) measured() bool { return time.Duration(time.Now().UnixNano()-g.last.Load()) <= stale }

// tooLong returns the refusal of a call whose first turn, or whose predecessors' end, is too far off, nil if neither is. The
// deadline must be later than the predecessors' end: the call's message has to be received, decided and answered.
func (g *Gate) tooLong(ctx context.Context, wait, all time.Duration) *Refusal {
	if most := g.limiter.maxWait; most > 0 && wait > most {
		return refusal(Long, wait)
	}
	if deadline, ok := ctx.Deadline(); ok && late(deadline, all, 0) {
		return refusal(Late, all)
	}
	return nil
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
	if time.Duration(now.UnixNano()-g.last.Swap(now.UnixNano())) < stale {
		g.pace.learn(pace)
	} else {
		g.pace.Store(pace)
	}
	return ctx
}

// HandleRPC implements stats.Handler: a call is received from when it begins until its first message is there, or it ends. A call
// that is answered without a seat is a measurement of its kind as well.
func (g *Gate) HandleRPC(ctx context.Context, event stats.RPCStats) {
	call, ok := ctx.Value(arrivalKey{}).(*arrival)
	if !ok {
		return
	}
	switch event.(type) {
	case *stats.Begin:
		call.kind.receiving.Add(1)
	case *stats.InPayload, *stats.End:
		if !call.received.Swap(true) {
			call.kind.receiving.Add(-1)
		}
		// A call that fails without a seat may have needed one.
		if end, ok := event.(*stats.End); ok && end.Error == nil && !call.sat.Load() {
			call.kind.usual.learn(0)
		}
	}
}

// TagConn implements stats.Handler.
func (g *Gate) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (g *Gate) HandleConn(context.Context, stats.ConnStats) {}
