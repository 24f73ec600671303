package stowage_test

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

var soon = failure(codes.ResourceExhausted, "OVERLOADED", &errdetails.RetryInfo{RetryDelay: durationpb.New(20 * time.Millisecond)})

// busy answers one call after another, each in a millisecond. What would wait longer than 15 ms it refuses, for half of what an
// answer takes.
type busy struct {
	lock sync.Mutex
	free time.Time
	sent int
}

func (b *busy) invoke(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
	b.lock.Lock()
	now := time.Now()
	if b.sent++; b.free.Before(now) {
		b.free = now
	}
	if b.free.Sub(now) > 15*time.Millisecond {
		b.free = b.free.Add(time.Millisecond / 2)
		b.lock.Unlock()
		return soon
	}
	b.free = b.free.Add(time.Millisecond)
	done := b.free
	b.lock.Unlock()
	select {
	case <-time.After(time.Until(done)):
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// calls makes calls at a rate, and returns how many were answered.
func (b *busy) calls(through *stowage.Throttle, perSecond int, over time.Duration) (answered, late int64) {
	var all sync.WaitGroup
	var ok, other atomic.Int64
	for range int(over.Seconds() * float64(perSecond)) {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			var err error
			if through == nil {
				err = b.invoke(ctx, "", nil, nil, nil)
			} else {
				err = through.Unary(ctx, "/x/Filter", nil, nil, nil, b.invoke)
			}
			switch status.Code(err) {
			case codes.OK:
				ok.Add(1)
			case codes.ResourceExhausted:
			default:
				other.Add(1)
			}
		})
		time.Sleep(time.Second / time.Duration(perSecond))
	}
	all.Wait()
	return ok.Load(), other.Load()
}

func TestAnOverloadedServerAnswersAsMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Most time is lost to refusals without a throttle.
		if answered, _ := new(busy).calls(nil, 4000, 10*time.Second); answered > 1000 {
			t.Errorf("without a throttle %d of 40000 calls are answered", answered)
		}
		b, through := new(busy), stowage.NewThrottle()
		answered, late := b.calls(through, 4000, 10*time.Second)
		if answered < 9000 || late > 10 || int64(b.sent)-answered > 1000 {
			t.Errorf("%d of %d sent calls are answered, %d end at their deadline", answered, b.sent, late)
		}
		// Load that the server can answer is not throttled for long.
		time.Sleep(time.Second)
		if answered, _ := b.calls(through, 500, 10*time.Second); answered < 4900 {
			t.Errorf("%d of 5000 calls are answered after the overload", answered)
		}
	})
}

func TestNothingIsThrottledWithoutRefusals(t *testing.T) {
	for name, err := range map[string]error{
		"malformed": status.Error(codes.InvalidArgument, ""),
		"too large": status.Error(codes.ResourceExhausted, ""),
		"late":      status.Error(codes.DeadlineExceeded, ""),
		"away":      status.Error(codes.Unavailable, ""),
	} {
		t.Run(name, func(t *testing.T) {
			through, sent := stowage.NewThrottle(), 0
			for range 1000 {
				_ = through.Unary(t.Context(), "/x/Place", nil, nil, nil,
					func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
						sent++
						return err
					})
			}
			if sent != 1000 {
				t.Errorf("%d of 1000 calls are sent", sent)
			}
		})
	}
}

func TestThrottledCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		through := stowage.NewThrottle()
		answer := func(err error) grpc.UnaryInvoker {
			return func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return err }
		}
		call := func(method string, err error) error {
			return through.Unary(t.Context(), method, nil, nil, nil, answer(err))
		}
		if err := call("/x/Place", soon); stowage.Details(err).Metadata["limit"] == "client" {
			t.Errorf("the server's error becomes %v", err)
		}
		d := stowage.Details(call("/x/Place", nil))
		if d.Code != codes.ResourceExhausted || d.Reason != stowagev1.ErrorReason_ERROR_REASON_OVERLOADED ||
			d.RetryAfter != 20*time.Millisecond || d.Metadata["limit"] != "client" {
			t.Errorf("a call within the delay: %+v", d)
		}
		if err := call("/x/Filter", nil); err != nil {
			t.Errorf("a call of another method: %v", err)
		}
		time.Sleep(21 * time.Millisecond)
		if err := call("/x/Place", nil); err != nil {
			t.Errorf("a call after the delay: %v", err)
		}
	})
}

// stream ends with an error, after a part if there is none.
type stream struct {
	grpc.ClientStream
	err   error
	parts int
}

func (s *stream) RecvMsg(any) error {
	if s.err == nil && s.parts == 0 {
		s.parts++
		return nil
	}
	if s.err == nil {
		return io.EOF
	}
	return s.err
}

// A stream is under way until its first part, or its end.
func TestThrottledStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		through := stowage.NewThrottle()
		var finish []func(error)
		open := func(err error) (grpc.ClientStream, error) {
			return through.Stream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, nil, "/x/PlaceStream",
				func(_ context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, options ...grpc.CallOption) (grpc.ClientStream, error) {
					for _, o := range options {
						if o, ok := o.(grpc.OnFinishCallOption); ok {
							finish = append(finish, o.OnFinish)
						}
					}
					return &stream{err: err}, nil
				})
		}
		refused, _ := open(soon)
		if err := refused.RecvMsg(nil); status.Code(err) != codes.ResourceExhausted {
			t.Fatal(err)
		}
		finish[0](soon) // as gRPC does, a second time
		if _, err := open(nil); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("a stream within the delay: %v", err)
		}
		time.Sleep(21 * time.Millisecond)
		first, err := open(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open(nil); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("a second stream before the first has a part: %v", err)
		}
		if err := first.RecvMsg(nil); err != nil {
			t.Fatal(err)
		}
		if _, err := open(nil); err != nil {
			t.Errorf("a second stream after the first has a part: %v", err)
		}
		finish[2](status.Error(codes.Canceled, "")) // nothing was received
		if _, err := open(nil); err != nil {
			t.Errorf("a third stream after the second was cancelled: %v", err)
		}
	})
}

// A call that the client does not send is repeated until it is answered, as it has time.
func TestThrottledCallsAreRepeated(t *testing.T) {
	r := start(t, soon)
	c := dial(t, r)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := c.Place(t.Context(), &stowagev1.PlaceRequest{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := r.calls.Load(); n != 51 {
		t.Errorf("%d calls are sent", n)
	}
}
