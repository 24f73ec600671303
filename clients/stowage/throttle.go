package stowage

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const (
	// throttledFor is how long calls are throttled after a server refused one.
	throttledFor = 5 * time.Second
	// After a refusal that many of the calls under way may be, then one more with each round of answers.
	throttledTo = .7
	// An answer is late if it took more than this part of the time to the deadline.
	late = .6
)

// Throttle refuses calls in the client while servers refuse them: what a server refuses costs it a good part of what an answer does.
// After a refusal it lets fewer calls be under way, and more again as they are answered, as TCP does with segments. It
// refuses the others with the error of an overloaded server, RESOURCE_EXHAUSTED with OVERLOADED and RetryInfo, and with "client" as
// the limit in the error's metadata. Each method has a limit of its own.
//
// Dial has a Throttle. This one is for clients with connections of their own, as interceptors after those that repeat
// calls. It is safe for concurrent use.
type Throttle struct{ byMethod sync.Map } // *window by method

// NewThrottle returns a throttle that has seen no calls.
func NewThrottle() *Throttle { return &Throttle{} }

func (t *Throttle) of(method string) *window {
	if w, ok := t.byMethod.Load(method); ok {
		return w.(*window)
	}
	w, _ := t.byMethod.LoadOrStore(method, new(window))
	return w.(*window)
}

// window is the calls of a method that are under way.
type window struct {
	lock     sync.Mutex
	underWay int
	limit    float64   // at least 1
	refused  time.Time // when a server last refused a call, or left it without an answer after that
	cut      time.Time // when the limit was last lowered
	// after is the delay that the server gave. While only one call may be under way, the next waits until then.
	after time.Duration
	until time.Time
}

// enter returns the error of a call that is not to be sent.
func (w *window) enter(now time.Time) error {
	w.lock.Lock()
	defer w.lock.Unlock()
	if now.Sub(w.refused) <= throttledFor && (w.underWay >= int(w.limit) || w.limit < 2 && now.Before(w.until)) {
		return throttled(w.after)
	}
	w.underWay++
	return nil
}

// leave counts the end of a call. A call that its caller cancelled says nothing. One that ends at its deadline, or took most of the
// time to it, counts as a refusal if a server refuses others.
func (w *window) leave(ctx context.Context, began time.Time, err error) {
	now := time.Now()
	deadline, ok := ctx.Deadline()
	slow := ok && now.Sub(began) > time.Duration(late*float64(deadline.Sub(began)))
	w.lock.Lock()
	defer w.lock.Unlock()
	is := w.underWay
	w.underWay--
	active := now.Sub(w.refused) <= throttledFor
	switch code := status.Code(err); code {
	case codes.Canceled:
		return
	case codes.DeadlineExceeded:
		if !active {
			return
		}
	case codes.ResourceExhausted:
		after := Details(err).RetryAfter
		if after <= 0 { // too large, for example
			return
		}
		w.after, w.until = after, now.Add(after)
		if !active {
			w.limit, w.cut = float64(is), time.Time{}
		}
	default:
		if !active {
			return
		}
		if !slow {
			if 2*is >= int(w.limit) {
				w.limit += 1 / w.limit
			}
			return
		}
	}
	w.refused = now
	// The calls that were under way when the limit was lowered say nothing about the lower one.
	if began.After(w.cut) {
		w.limit, w.cut = max(1, throttledTo*min(w.limit, float64(is))), now
	}
}

// throttled is the error of a call that is not sent.
func throttled(after time.Duration) error {
	s, err := status.New(codes.ResourceExhausted, "not sent: servers have too much work to answer more of these calls").WithDetails(
		&errdetails.ErrorInfo{
			Domain: stowagev1.ErrorDomain, Reason: stowagev1.ErrorReason_ERROR_REASON_OVERLOADED.Short(),
			Metadata: map[string]string{"limit": clientLimit},
		},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
	if err != nil {
		return err
	}
	return s.Err()
}

// clientLimit is the limit in the metadata of the error of a call that was not sent.
const clientLimit = "client"

// Unary is a grpc.UnaryClientInterceptor.
func (t *Throttle) Unary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	w, now := t.of(method), time.Now()
	err := w.enter(now)
	if err == nil {
		err = invoke(ctx, method, request, reply, conn, options...)
		w.leave(ctx, now, err)
	}
	return err
}

// Stream is a grpc.StreamClientInterceptor. A stream of responses counts until its first part arrives. Streams of requests
// are not throttled.
func (t *Throttle) Stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if desc.ClientStreams {
		return open(ctx, desc, conn, method, options...)
	}
	w, now := t.of(method), time.Now()
	if err := w.enter(now); err != nil {
		return nil, err
	}
	s := &throttledStream{ctx: ctx, window: w, began: now}
	var err error
	// A caller may never receive. The stream's end counts it then.
	options = slices.Concat(options, []grpc.CallOption{grpc.OnFinish(s.leave)})
	if s.ClientStream, err = open(ctx, desc, conn, method, options...); err != nil {
		s.leave(err)
		return nil, err
	}
	return s, nil
}

// throttledStream counts a stream once.
type throttledStream struct {
	grpc.ClientStream
	ctx    context.Context // of the call
	window *window
	began  time.Time
	once   sync.Once
}

func (s *throttledStream) leave(err error) { s.once.Do(func() { s.window.leave(s.ctx, s.began, err) }) }

// RecvMsg implements grpc.ClientStream.
func (s *throttledStream) RecvMsg(part any) error {
	err := s.ClientStream.RecvMsg(part)
	if errors.Is(err, io.EOF) {
		s.leave(nil)
	} else {
		s.leave(err)
	}
	return err
}
