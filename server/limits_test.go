package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
)

// sized is a request of about this size.
func sized(bytes int) *stowagev1.FilterRequest {
	return &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{}},
	}, Pod: &stowagev1.Pod{Name: string(make([]byte, bytes))}}
}

func TestLargestMessage(t *testing.T) {
	c := testConfig()
	r := run(t, c, t.Output(), &stub{filter: func(context.Context) error { return nil }}, nil)
	around := c.MaxReceiveMessageBytes - 100 // of the name
	around += c.MaxReceiveMessageBytes - proto.Size(sized(around))
	if size := proto.Size(sized(around)); size != c.MaxReceiveMessageBytes {
		t.Fatalf("a message of %d bytes", size)
	}
	if _, err := r.client().Filter(t.Context(), sized(around)); err != nil {
		t.Errorf("a message of the limit is refused: %v", err)
	}
	_, err := r.client().Filter(t.Context(), sized(around+1))
	if code, _, _, _ := why(err); code != codes.ResourceExhausted {
		t.Errorf("a message too large: got %v", code)
	}
}

func TestInFlightLimit(t *testing.T) {
	service, entered, release := blocking()
	c := testConfig()
	r := run(t, c, t.Output(), service, nil)
	half := int(c.MaxInFlightBytes/2) - 1000 // two fit, a third does not
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if _, err := r.client().Filter(t.Context(), sized(half)); err != nil {
				t.Error(err)
			}
		})
	}
	for range 2 {
		<-entered
	}
	_, err := r.client().Filter(t.Context(), sized(half))
	if code, reason, retry, _ := why(err); code != codes.ResourceExhausted || reason != "OVERLOADED" || retry <= 0 {
		t.Errorf("one too many: got %v %s, retry after %v", code, reason, retry)
	}
	if _, err := healthv1.NewHealthClient(r.conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("a health check is refused: %v", err)
	}
	close(release)
	group.Wait()
	if _, err := r.client().Filter(t.Context(), sized(half)); err != nil {
		t.Errorf("a call after those that are answered: %v", err)
	}
}

// Every way in which a call ends gives its bytes back: had any of these not, the last call would find no room.
func TestInFlightBytesAreReleased(t *testing.T) {
	answer := func(context.Context) error { return nil }
	began := make(chan struct{}, 1)
	var next atomic.Value // how the next calls end
	service := &stub{filter: func(ctx context.Context) error { return next.Load().(func(context.Context) error)(ctx) }}
	c := testConfig()
	c.MaxInFlightBytes = int64(c.MaxReceiveMessageBytes)
	r := run(t, c, t.Output(), service, nil)
	large := c.MaxReceiveMessageBytes - 100
	for name, end := range map[string]func(context.Context) error{
		"answer": answer,
		"error":  func(context.Context) error { return errors.New("x") },
		"panic":  func(context.Context) error { panic("x") },
		"caller goes away": func(ctx context.Context) error {
			began <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			next.Store(end)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				select {
				case <-began:
					cancel()
				case <-ctx.Done():
				}
			}()
			eventually(t, "the call gets through", func() bool {
				_, err := r.client().Filter(ctx, sized(large))
				return !overloaded(err) // by a call before whose caller went away while it was worked on
			})
			next.Store(answer)
			eventually(t, "bytes are released", func() bool {
				_, err := r.client().Filter(t.Context(), sized(large))
				return err == nil
			})
		})
	}
}

func TestRateLimit(t *testing.T) {
	c := testConfig()
	c.RateLimitPerSecond = 0.001
	r := run(t, c, t.Output(), &stub{filter: func(context.Context) error { return nil }}, nil)
	if _, err := r.client().Filter(t.Context(), sized(1)); err != nil {
		t.Fatal(err)
	}
	_, err := r.client().Filter(t.Context(), sized(1))
	if code, reason, retry, _ := why(err); code != codes.ResourceExhausted || reason != "RATE_LIMITED" || retry <= 0 {
		t.Errorf("got %v %s, retry after %v", code, reason, retry)
	}
}

func TestPanic(t *testing.T) {
	r := run(t, testConfig(), t.Output(), &stub{filter: func(context.Context) error { panic("secret") }}, nil)
	_, err := r.client().Filter(t.Context(), sized(1))
	if code, reason, _, _ := why(err); code != codes.Internal || reason != "INTERNAL" {
		t.Errorf("got %v %s", code, reason)
	}
	if got := err.Error(); got != "rpc error: code = Internal desc = internal error; see the server's log for this trace" {
		t.Errorf("the answer says %q", got)
	}
}

// TestWhatIfsAreInFlight asks about a snapshot with a difference, which copies more than its request has bytes.
func TestWhatIfsAreInFlight(t *testing.T) {
	c := testConfig()
	c.MaxSnapshotBytes = 1 << 20
	c.MaxReceiveMessageBytes, c.MaxInFlightBytes = 8<<10, 8<<10 // less than what any difference counts for
	service := &watched{placement.New(c.MaxSnapshotBytes, nil), make(chan struct{}, 10)}
	client := run(t, c, t.Output(), service, nil).client()
	whole := threeZones()
	base, err := put(t, client, part(whole), end(""))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // part and end
		<-service.received
	}
	ask := func(d *stowagev1.ClusterDelta) error {
		_, err := client.Filter(t.Context(), filterOn(base.Address, d))
		return err
	}
	without := &stowagev1.ClusterDelta{RemovedNodes: []string{whole.Nodes[0].Name}}
	if err := ask(without); err != nil {
		t.Errorf("alone: %v", err)
	}
	// Half of a put is in flight until the rest comes.
	half, err := client.PutSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := half.Send(part(whole)); err != nil {
		t.Fatal(err)
	}
	<-service.received
	if err := ask(without); !overloaded(err) {
		t.Errorf("beside another request: %v", err)
	}
	if err := ask(nil); err != nil {
		t.Errorf("without a difference: %v", err)
	}
	if _, err := put(t, client, onto(base.Address), delta(without), end("")); !overloaded(err) {
		t.Errorf("a put of a difference beside another request: %v", err)
	}
	if _, err := half.CloseAndRecv(); err == nil {
		t.Error("half a put is taken")
	}
	if err := ask(without); err != nil {
		t.Errorf("alone again: %v", err)
	}
}

// watched reports the receipt of a step of a put.
type watched struct {
	stowagev1.PlacementServiceServer
	received chan struct{}
}

func (w *watched) PutSnapshot(stream grpc.ClientStreamingServer[stowagev1.PutSnapshotRequest,
	stowagev1.PutSnapshotResponse]) error {
	return w.PlacementServiceServer.PutSnapshot(watchedStream{stream, w.received})
}

type watchedStream struct {
	grpc.ClientStreamingServer[stowagev1.PutSnapshotRequest, stowagev1.PutSnapshotResponse]
	received chan struct{}
}

func (s watchedStream) RecvMsg(m any) error {
	err := s.ClientStreamingServer.RecvMsg(m)
	if err == nil {
		s.received <- struct{}{}
	}
	return err
}

// overloaded reports whether an error says that there is too much to do at the moment.
func overloaded(err error) bool {
	code, reason, retry, _ := why(err)
	return code == codes.ResourceExhausted && reason == "OVERLOADED" && retry > 0
}
