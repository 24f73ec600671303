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
	// throttledFor is how long calls are throttled after a refusal.
	throttledFor = 5 * time.Second
	// A refusal reduces the limit to this part of the calls in progress. Each round of responses then raises it by one.
	throttledTo = .7
	// A response is late if it took more than this part of the time to the deadline.
	late = .6
)

// Throttle refuses calls in the client while servers refuse them, because a refusal costs a server a good part of the work of a
// response. Like TCP with segments, it reduces the number of concurrent calls after a refusal, and raises it with successful responses.
// It refuses other calls with the error of an overloaded server: RESOURCE_EXHAUSTED with OVERLOADED and RetryInfo, and with "client" as
// the limit in the error's metadata. Each method has its own limit.
//
// Clients of Dial have a Throttle. Clients with their own connections may use this one, as interceptors after any that retry. It is safe
// for concurrent use.
type Throttle struct{ byMethod sync.Map } // *window by method

// NewThrottle returns a throttle without a limit.
func NewThrottle() *Throttle { return &Throttle{} }

func (t *Throttle) window(method string) *window {
	if w, ok := t.byMethod.Load(method); ok {
		return w.(*window)
	}
	w, _ := t.byMethod.LoadOrStore(method, new(window))
	return w.(*window)
}

// window limits the concurrent calls of a method.
type window struct {
	lock       sync.Mutex
	inProgress int
	limit      float64   // at least 1
	refused    time.Time // when a server last refused a call, or left it without a response after a refusal
	cut        time.Time // when the limit was last lowered
	// after is the server's delay. While the limit is one call, the next call waits until then.
	after time.Duration
	until time.Time
}

// enter returns the error of a call that must not be sent.
func (w *window) enter(now time.Time) error {
	w.lock.Lock()
	defer w.lock.Unlock()
	if now.Sub(w.refused) <= throttledFor && (w.inProgress >= int(w.limit) || w.limit < 2 && now.Before(w.until)) {
		return throttled(w.after)
	}
	w.inProgress++
	return nil
}

// leave counts the end of a call. It ignores calls that the caller cancelled. A call that ends at its deadline, or took most of the time
// to it, counts as a refusal if a server refuses others.
func (w *window) leave(ctx context.Context, began time.Time, err error) {
	now := time.Now()
	deadline, ok := ctx.Deadline()
	slow := ok && now.Sub(began) > time.Duration(late*float64(deadline.Sub(began)))
	w.lock.Lock()
	defer w.lock.Unlock()
	is := w.inProgress
	w.inProgress--
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
	// Calls that were in progress when the limit was lowered are no evidence about the lower limit.
	if began.After(w.cut) {
		w.limit, w.cut = max(1, throttledTo*min(w.limit, float64(is))), now
	}
}

// throttled is the error of a call that is not sent.
func throttled(after time.Duration) error {
	s, err := status.New(codes.ResourceExhausted, "not sent: the servers are overloaded with calls of this method").WithDetails(
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

// clientLimit is the limit in the error metadata of a call that was not sent.
const clientLimit = "client"

// Unary is a grpc.UnaryClientInterceptor.
func (t *Throttle) Unary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption,
) error {
	w, now := t.window(method), time.Now()
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
	w, now := t.window(method), time.Now()
	if err := w.enter(now); err != nil {
		return nil, err
	}
	s := &throttledStream{ctx: ctx, window: w, began: now}
	var err error
	// If the caller never receives, the stream's end counts.
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
