package stowage

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const (
	// A call is tried on a second replica after the 95th percentile of its method's response times, at least minHedge, and unknownHedge
	// while the percentile is unknown.
	minHedge, unknownHedge = 5 * time.Millisecond, 100 * time.Millisecond
	// A put is tried on a second replica after at least this time, because it sends all bytes again.
	minHedgedPut = 500 * time.Millisecond
	// At most one in hedgeCost calls has a second try, after an initial budget of maxBudget/hedgeCost.
	hedgeCost, maxBudget = 10, 200
)

// hedging decides when calls are tried on a second replica. Responses depend only on requests, so the first response wins.
type hedging struct {
	byMethod sync.Map // *quantile by method
	spent    atomic.Int64
}

// quantile tracks the 95th percentile of response times: each longer call raises it, each shorter call lowers it by a nineteenth of
// that.
type quantile struct{ bits atomic.Uint64 }

// step is the factor by which a longer call raises the quantile.
const step = 1.1

func (q *quantile) add(took time.Duration) {
	for {
		old := q.bits.Load()
		now := math.Float64frombits(old)
		switch {
		case old == 0:
			now = 2 * float64(took)
		case float64(took) > now:
			now *= step
		default:
			now /= math.Pow(step, 1.0/19)
		}
		if q.bits.CompareAndSwap(old, math.Float64bits(now)) {
			return
		}
	}
}

// after is the delay of a second try, at least atLeast.
func (q *quantile) after(atLeast time.Duration) time.Duration {
	bits := q.bits.Load()
	if bits == 0 {
		return max(unknownHedge, atLeast)
	}
	return max(time.Duration(math.Float64frombits(bits)), atLeast)
}

func (h *hedging) quantile(method string) *quantile {
	if q, ok := h.byMethod.Load(method); ok {
		return q.(*quantile)
	}
	q, _ := h.byMethod.LoadOrStore(method, new(quantile))
	return q.(*quantile)
}

// Each call earns a part of a second try, and each second try spends one.
func (h *hedging) earn() {
	if h.spent.Load() > 0 {
		h.spent.Add(-1)
	}
}

func (h *hedging) spend() bool {
	if h.spent.Add(hedgeCost) <= maxBudget {
		return true
	}
	h.spent.Add(-hedgeCost)
	return false
}

// second is the second try of a call.
type second struct {
	begun  chan struct{} // closed after the decision about a second try
	ended  chan struct{} // closed when it has ended; nil without a second try
	err    error
	won    bool
	cancel context.CancelFunc
}

// hedged makes a call, and also tries it on a second replica if the first is slow: the second try is call with true. It returns whether
// the second try counts, and the error of the try that counts.
func (c *Client) hedged(
	ctx context.Context, method string, atLeast time.Duration, call func(ctx context.Context, second bool) error,
) (bySecond bool, err error) {
	c.hedging.earn()
	first := &try{replicas: &c.replicas}
	times := c.hedging.quantile(method)
	ctxFirst, cancel := context.WithCancel(withTry(ctx, first))
	defer cancel()
	other := second{begun: make(chan struct{})}
	timer := time.AfterFunc(times.after(atLeast), func() {
		at := first.at.Load()
		if at == nil || first.alone.Load() || !c.hedging.spend() {
			close(other.begun)
			return
		}
		var ctxSecond context.Context
		ctxSecond, other.cancel = context.WithCancel(withTry(ctx, &try{replicas: &c.replicas, avoid: at}))
		other.ended = make(chan struct{})
		close(other.begun)
		if other.err = call(ctxSecond, true); other.err == nil {
			other.won = true
			at.strike()
			cancel()
		}
		close(other.ended)
	})
	start := time.Now()
	err = call(ctxFirst, false)
	if timer.Stop() {
		if err == nil {
			times.add(time.Since(start))
		}
		return false, err
	}
	<-other.begun
	if other.ended == nil {
		if err == nil {
			times.add(time.Since(start))
		}
		return false, err
	}
	switch status.Code(err) {
	case codes.Canceled, codes.Unavailable, codes.DeadlineExceeded: // the second try may succeed, or has succeeded
		if ctx.Err() != nil {
			other.cancel()
		}
	default: // the second try is needless now
		other.cancel()
	}
	<-other.ended
	other.cancel()
	times.add(time.Since(start))
	if err != nil && other.won {
		return true, nil
	}
	return false, err
}

// unaryHedged is hedged for unary calls.
func (c *Client) unaryHedged(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	to, ok := reply.(proto.Message)
	if !ok {
		return invoke(ctx, method, request, reply, conn, options...)
	}
	kind := to.ProtoReflect().Type() // of the reply, which the first try writes
	var spare proto.Message
	bySecond, err := c.hedged(ctx, method, minHedge, func(ctx context.Context, second bool) error {
		if !second {
			return invoke(ctx, method, request, reply, conn, options...)
		}
		spare = kind.New().Interface()
		// The caller's options may receive results of the first try: headers, trailers, the peer.
		return invoke(ctx, method, request, spare, conn, own(options)...)
	})
	if bySecond {
		proto.Reset(to)
		proto.Merge(to, spare)
	}
	return err
}

// own returns the options that write nothing for the caller.
func own(options []grpc.CallOption) []grpc.CallOption {
	out := make([]grpc.CallOption, 0, len(options))
	for _, o := range options {
		switch o.(type) {
		case grpc.HeaderCallOption, grpc.TrailerCallOption, grpc.PeerCallOption, grpc.OnFinishCallOption:
		default:
			out = append(out, o)
		}
	}
	return out
}
