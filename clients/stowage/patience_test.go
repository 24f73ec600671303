package stowage_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/clients/stowage/loopback"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// away makes a client's first connections to a replica fail, all if there is no number.
func away(t *testing.T, r *replica, connections int64, options ...grpc.DialOption) *stowage.Client {
	t.Helper()
	var tried atomic.Int64
	c, err := stowage.Dial([]string{r.address},
		append(options, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			if n := tried.Add(1); connections == 0 || n <= connections {
				return nil, errors.New("refused")
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", address)
		}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// asks are the ways to call.
var asks = map[string]func(context.Context, *stowage.Client, *stowage.Snapshot) error{
	"a call": func(ctx context.Context, c *stowage.Client, _ *stowage.Snapshot) error {
		_, err := c.Place(ctx, &stowagev1.PlaceRequest{})
		return err
	},
	"a put": func(ctx context.Context, c *stowage.Client, s *stowage.Snapshot) error { return c.Put(ctx, s) },
	"a call that is answered in parts": func(ctx context.Context, c *stowage.Client, _ *stowage.Snapshot) error {
		_, err := placed(ctx, c, &stowagev1.PlaceRequest{})
		return err
	},
}

// gRPC's own tries are over after some 0.7 s, and the connection is there after more than 2 s.
func TestAReplicaIsWaitedFor(t *testing.T) {
	s := snapshot(t, clusterOf("n"))
	for name, ask := range asks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := ask(t.Context(), away(t, start(t), 7, stowage.WithPatience(time.Hour)), s); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPatienceEnds(t *testing.T) {
	s := snapshot(t, clusterOf("n"))
	for name, ask := range asks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, options := range [][]grpc.DialOption{nil, {stowage.WithPatience(time.Second)}} {
				c := away(t, start(t), 0, options...)
				for range 2 {
					if err := ask(t.Context(), c, s); status.Code(err) != codes.Unavailable {
						t.Error(err)
					}
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			if err := ask(ctx, away(t, start(t), 0, stowage.WithPatience(time.Hour)), s); err == nil {
				t.Error("a response without a server")
			}
		})
	}
}

// crashing is a server that each request takes away.
type crashing struct {
	stowagev1.UnimplementedPlacementServiceServer
	crash func()
}

func (c *crashing) Place(context.Context, *stowagev1.PlaceRequest) (*stowagev1.PlaceResponse, error) {
	c.crash()
	return nil, status.Error(codes.Unavailable, "")
}

// The client gives up a request that breaks the connection each time the server is reachable again.
func TestPatienceEndsThoughTheServerComesBack(t *testing.T) {
	t.Parallel()
	var connection atomic.Pointer[net.Conn]
	var tried atomic.Int64
	server, listener := grpc.NewServer(), loopback.Listen(t, net.JoinHostPort(loopback.Host(), "0"))
	stowagev1.RegisterPlacementServiceServer(server, &crashing{crash: func() { (*connection.Load()).Close() }})
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-done })
	c, err := stowage.Dial([]string{listener.Addr().String()}, stowage.WithPatience(6*time.Second),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			if tried.Add(1)%6 != 1 {
				return nil, errors.New("refused")
			}
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			connection.Store(&conn)
			return conn, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Place(ctx, &stowagev1.PlaceRequest{}); status.Code(err) != codes.Unavailable || ctx.Err() != nil {
		t.Errorf("%v after %d connections", err, tried.Load())
	}
}
