package stowage_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// gray is a replica that answers late or not at all.
type gray struct {
	stowagev1.UnimplementedPlacementServiceServer
	name    string
	late    atomic.Int64 // how much later it answers, in ns; below 0 never
	invalid atomic.Bool  // whether it refuses requests
	calls   atomic.Int64
}

func (g *gray) GetServerInfo(ctx context.Context, _ *stowagev1.GetServerInfoRequest) (*stowagev1.GetServerInfoResponse, error) {
	g.calls.Add(1)
	late := time.Duration(g.late.Load())
	if late < 0 {
		late = time.Hour
	}
	select {
	case <-time.After(late):
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if g.invalid.Load() {
		return nil, status.Error(codes.InvalidArgument, "invalid")
	}
	return &stowagev1.GetServerInfoResponse{Release: g.name}, nil
}

// serveGrays serves replicas, and returns their addresses.
func serveGrays(t *testing.T, n int) (replicas []*gray, addresses []string) {
	t.Helper()
	for i := range n {
		g := &gray{name: fmt.Sprint(i)}
		s := grpc.NewServer(grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}))
		stowagev1.RegisterPlacementServiceServer(s, g)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
		replicas, addresses = append(replicas, g), append(addresses, l.Addr().String())
	}
	return replicas, addresses
}

// grays are three replicas and a client that knows them all.
func grays(t *testing.T) ([3]*gray, *stowage.Client) {
	t.Helper()
	replicas, addresses := serveGrays(t, 3)
	out := [3]*gray(replicas)
	c, err := stowage.Dial(addresses)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for deadline := time.Now().Add(time.Minute); out[0].calls.Load()*out[1].calls.Load()*out[2].calls.Load() == 0; {
		if _, err := c.GetServerInfo(t.Context(), &stowagev1.GetServerInfoRequest{}); err != nil || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	return out, c
}

// load makes calls with a deadline, some at a time, and returns how many failed.
func load(t *testing.T, c *stowage.Client, calls int, deadline time.Duration) (failed int64) {
	t.Helper()
	var left, bad atomic.Int64
	left.Store(int64(calls))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				ctx, cancel := context.WithTimeout(t.Context(), deadline)
				if answer, err := c.GetServerInfo(ctx, &stowagev1.GetServerInfoRequest{}); err != nil || answer.GetRelease() == "" {
					bad.Add(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	return bad.Load()
}

// TestAReplicaThatDoesNotAnswer expects that no call fails for it, that it soon gets few calls, and all of its share once it answers.
func TestAReplicaThatDoesNotAnswer(t *testing.T) {
	for name, late := range map[string]time.Duration{"never": -1, "slowly": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			replicas, c := grays(t)
			if failed := load(t, c, 300, time.Second); failed > 0 {
				t.Fatalf("%d calls fail of replicas that answer", failed)
			}
			replicas[0].late.Store(int64(late))
			before := replicas[0].calls.Load()
			if failed := load(t, c, 3000, time.Second); failed > 0 {
				t.Errorf("%d calls fail", failed)
			}
			if got := replicas[0].calls.Load() - before; got > 300 {
				t.Errorf("the replica gets %d of 3000 calls", got)
			}
			replicas[0].late.Store(0)
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
				before = replicas[0].calls.Load()
				load(t, c, 300, time.Second)
				if replicas[0].calls.Load()-before > 50 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the replica gets no calls although it answers")
				}
			}
		})
	}
}

// TestErrorsOfRequestsEjectNobody expects that a replica whose answers are errors of requests keeps its share.
func TestErrorsOfRequestsEjectNobody(t *testing.T) {
	replicas, c := grays(t)
	replicas[0].invalid.Store(true)
	before := replicas[0].calls.Load()
	load(t, c, 900, time.Second)
	// Its share is 300, less while the machine is busy elsewhere. One that is ejected gets three calls, and then one a second.
	if got := replicas[0].calls.Load() - before; got < 50 {
		t.Errorf("the replica gets %d of 900 calls", got)
	}
}

// TestSecondTriesAreBounded expects that replicas that have all become slow do not get twice the calls.
func TestSecondTriesAreBounded(t *testing.T) {
	replicas, c := grays(t)
	load(t, c, 300, time.Second)
	var before, after int64
	for _, r := range replicas {
		r.late.Store(int64(20 * time.Millisecond))
		before += r.calls.Load()
	}
	const calls = 600
	if failed := load(t, c, calls, 10*time.Second); failed > 0 {
		t.Errorf("%d calls fail", failed)
	}
	for _, r := range replicas {
		after += r.calls.Load()
	}
	if extra := after - before - calls; extra < 0 || extra > calls/10+25 {
		t.Errorf("%d calls more than %d", extra, calls)
	}
}
