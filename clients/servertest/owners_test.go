package servertest_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// puts counts the bytes and the streams of a client's puts.
type puts struct{ streams, bytes atomic.Int64 }

type putKey struct{}

func (p *puts) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, putKey{}, info.FullMethodName == stowagev1.PlacementService_PutSnapshot_FullMethodName)
}

func (p *puts) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if put, _ := ctx.Value(putKey{}).(bool); put {
		switch s := s.(type) {
		case *stats.Begin:
			p.streams.Add(1)
		case *stats.OutPayload:
			p.bytes.Add(int64(s.WireLength))
		}
	}
}

func (*puts) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*puts) HandleConn(context.Context, stats.ConnStats)                       {}

// TestOwnersInARollingUpdate restarts ten servers one after the other while the cluster changes, and counts what is put: by a client
// that uses all replicas, and by one whose calls have two owners.
func TestOwnersInARollingUpdate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const count, callsBetween = 10, 60 // which take as long as a replica needs to be connected again
	perRestart := map[int]float64{}
	for _, owners := range []int{0, 2} {
		replicas := make([]*servertest.Server, count)
		var addresses []string
		for i := range replicas {
			replicas[i] = servertest.Start(t)
			addresses = append(addresses, replicas[i].Address)
		}
		counted := &puts{}
		options := []grpc.DialOption{grpc.WithStatsHandler(counted), stowage.WithPatience(10 * time.Second)}
		if owners > 0 {
			options = append(options, stowage.WithOwners("cluster", owners))
		}
		c, err := stowage.Dial(addresses, options...)
		if err != nil {
			t.Fatal(err)
		}
		s := newSnapshot(t, bigcluster.Compact(bigcluster.Random(1000)))
		ask := func(calls int) {
			for range calls {
				time.Sleep(5 * time.Millisecond)
				answer, err := c.Filter(t.Context(), &stowagev1.FilterRequest{
					Context: &stowagev1.DecisionContext{
						Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: s.Address()}},
					},
					Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: bigcluster.Template(0)}},
				})
				if err != nil || len(answer.GetFeasibleNodes().GetIndexes())+len(answer.GetRejections()) == 0 {
					t.Fatal(answer, err)
				}
			}
		}
		if err := c.Put(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		whole := counted.bytes.Load()
		ask(200)
		last := 999
		changes := func() (streams, bytes int64) {
			was, had := counted.streams.Load(), counted.bytes.Load()
			next, err := s.With(&stowagev1.ClusterDelta{RemovedNodes: []string{fmt.Sprintf("node-%06d", last)}})
			if err != nil {
				t.Fatal(err)
			}
			s = next
			if err := c.Put(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			ask(callsBetween)
			return counted.streams.Load() - was, counted.bytes.Load() - had
		}
		deltaStreams, deltaBytes := changes()
		was, had := counted.streams.Load(), counted.bytes.Load()
		for i := range replicas {
			replicas[i].Stop()
			ask(callsBetween)
			replicas[i].Resume()
			ask(callsBetween)
		}
		perRestart[owners] = float64(counted.streams.Load()-was) / count
		t.Logf("%d owners: a delta is put in %d streams of %d bytes; a restart leads to %.1f streams of %d bytes, %.2f of the snapshot", owners,
			deltaStreams, deltaBytes, perRestart[owners], (counted.bytes.Load()-had)/count, float64(counted.bytes.Load()-had)/count/float64(whole))
		_ = c.Close()
		for i := range replicas {
			replicas[i].Stop()
		}
	}
	if perRestart[2] > perRestart[0]*.7 {
		t.Errorf("a restart leads to %v puts by owners", perRestart)
	}
}
