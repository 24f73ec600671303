package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// sized is a request of about so many bytes.
func sized(bytes int) *stowagev1.FilterRequest {
	return &stowagev1.FilterRequest{Cluster: &stowagev1.Cluster{}, Pod: &stowagev1.Pod{Name: string(make([]byte, bytes))}}
}

func TestLargestMessage(t *testing.T) {
	c := testConfig()
	r := run(t, c, t.Output(), &stub{filter: func(context.Context) error { return nil }}, nil)
	if _, err := r.client().Filter(t.Context(), sized(c.MaxReceiveMessageBytes-100)); err != nil {
		t.Errorf("a message that fits is refused: %v", err)
	}
	_, err := r.client().Filter(t.Context(), sized(c.MaxReceiveMessageBytes+1))
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
	if code, reason, retry, _ := why(err); code != codes.ResourceExhausted || reason != "stowage/OVERLOADED" || retry <= 0 {
		t.Errorf("one too many: got %v %s, retry after %v", code, reason, retry)
	}
	if _, err := healthv1.NewHealthClient(r.conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("a health check is refused: %v", err)
	}
	close(release)
	group.Wait()
	eventually(t, "bytes are released", func() bool {
		_, err := r.client().Filter(t.Context(), sized(half))
		return err == nil
	})
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
				return !overloaded(err) // by the call before, whose answer comes before its bytes are given back
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
	if code, reason, retry, _ := why(err); code != codes.ResourceExhausted || reason != "stowage/RATE_LIMITED" || retry <= 0 {
		t.Errorf("got %v %s, retry after %v", code, reason, retry)
	}
}

func TestPanic(t *testing.T) {
	r := run(t, testConfig(), t.Output(), &stub{filter: func(context.Context) error { panic("secret") }}, nil)
	_, err := r.client().Filter(t.Context(), sized(1))
	if code, reason, _, _ := why(err); code != codes.Internal || reason != "stowage/INTERNAL" {
		t.Errorf("got %v %s", code, reason)
	}
	if got := err.Error(); got != "rpc error: code = Internal desc = the server failed, its log tells why" {
		t.Errorf("the answer says %q", got)
	}
}

// TestWhatIfsAreInFlight asks about a snapshot with a difference, which copies more than its request has bytes.
func TestWhatIfsAreInFlight(t *testing.T) {
	c := testConfig()
	c.MaxSnapshotBytes = 1 << 20
	c.MaxReceiveMessageBytes, c.MaxInFlightBytes = 8<<10, 8<<10 // less than what any difference counts for
	client := run(t, c, t.Output(), nil, nil).client()
	whole := threeZones()
	base, err := put(t, client, part(whole), end(""))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(d *stowagev1.ClusterDelta) error {
		_, err := client.Filter(t.Context(), filterOn(base.Address, d))
		return err
	}
	without := &stowagev1.ClusterDelta{RemovedNodes: []string{whole.Nodes[0].Name}}
	// A call's bytes may be given back after its answer, and be counted beside those of the next call.
	eventually(t, "an answer alone", func() bool { return ask(without) == nil })
	// Half of a put is in flight until the rest comes.
	stream, err := client.PutSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(part(whole)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "refused beside another request", func() bool { return overloaded(ask(without)) })
	eventually(t, "an answer without a difference", func() bool { return ask(nil) == nil })
	eventually(t, "a put of a difference is refused", func() bool {
		_, err := put(t, client, delta(base.Address, without), end(""))
		return overloaded(err)
	})
	if _, err := stream.CloseAndRecv(); err == nil {
		t.Error("half a put is taken")
	}
	eventually(t, "an answer alone again", func() bool { return ask(without) == nil })
}

// overloaded reports whether an error says that there is too much to do at the moment.
func overloaded(err error) bool {
	code, reason, retry, _ := why(err)
	return code == codes.ResourceExhausted && reason == "stowage/OVERLOADED" && retry > 0
}
