package stowage_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/ringhash"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
)

// owning returns a client of replicas, once all of them are connected.
func owning(t *testing.T, replicas []*gray, addresses []string, key string, n int) *stowage.Client {
	t.Helper()
	c, err := stowage.Dial(addresses, stowage.WithOwners(key, n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	// Until the owners are connected, others take their place.
	for settled := 0; settled < 3; settled++ {
		if time.Sleep(10 * time.Millisecond); calledOf(t, replicas, c) > n {
			settled = 0
		}
	}
	return c
}

// calledOf returns how many replicas get the next calls.
func calledOf(t *testing.T, replicas []*gray, c *stowage.Client) (called int) {
	t.Helper()
	before := make([]int64, len(replicas))
	for i, r := range replicas {
		before[i] = r.calls.Load()
	}
	if failed := load(t, c, 40, 10*time.Second); failed > 0 {
		t.Fatalf("%d calls fail", failed)
	}
	for i, r := range replicas {
		if r.calls.Load() > before[i] {
			called++
		}
	}
	return called
}

// TestOwners expects calls at the owners alone, the same ones for each client with the key, others for other keys, and at the next
// replica while an owner does not answer.
func TestOwners(t *testing.T) {
	replicas, addresses := serveGrays(t, 8)
	owners := func(key string, n int) (of []string) {
		c := owning(t, replicas, addresses, key, n)
		for range 50 {
			answer, err := c.GetServerInfo(t.Context(), &stowagev1.GetServerInfoRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(of, answer.GetRelease()) {
				of = append(of, answer.GetRelease())
			}
		}
		slices.Sort(of)
		return of
	}
	first := owners("a", 2)
	if len(first) != 2 || !slices.Equal(first, owners("a", 2)) {
		t.Errorf("the owners of a are %v", first)
	}
	if three := owners("a", 3); len(three) != 3 || !slices.Contains(three, first[0]) || !slices.Contains(three, first[1]) {
		t.Errorf("the owners of a are %v, with a third one %v", first, three)
	}
	all := map[string]bool{}
	for i := range 8 {
		for _, o := range owners(fmt.Sprint("key-", i), 1) {
			all[o] = true
		}
	}
	if len(all) < 3 {
		t.Errorf("8 keys have the owners %v", all)
	}

	c := owning(t, replicas, addresses, "a", 2)
	owner := replicas[slices.IndexFunc(replicas, func(r *gray) bool { return r.name == first[0] })]
	owner.late.Store(-1)
	if failed := load(t, c, 400, time.Second); failed > 0 {
		t.Errorf("%d calls fail while an owner hangs", failed)
	}
	owner.late.Store(0)
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		before := owner.calls.Load()
		load(t, c, 100, time.Second)
		if owner.calls.Load()-before > 20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the owner gets no calls although it answers")
		}
	}
}

// TestRingHashByLineage expects that gRPC's own ring_hash policy sends all calls of a lineage to one replica, by the header that
// WithOwners sets.
func TestRingHashByLineage(t *testing.T) {
	replicas, addresses := serveGrays(t, 8)
	names := manual.NewBuilderWithScheme("replicas")
	state := resolver.State{}
	for _, a := range addresses {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: a})
	}
	names.InitialState(state)
	conn, err := grpc.NewClient("replicas:///", grpc.WithResolvers(names), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(fmt.Sprintf(`{"loadBalancingConfig": [{"ring_hash_experimental": {"requestHashHeader": %q}}]}`,
			stowage.LineageHeader)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := stowagev1.NewPlacementServiceClient(conn)
	all := map[string]bool{}
	for i := range 12 {
		of := map[string]bool{}
		ctx := metadata.AppendToOutgoingContext(t.Context(), stowage.LineageHeader, fmt.Sprint("key-", i))
		for range 20 {
			answer, err := client.GetServerInfo(ctx, &stowagev1.GetServerInfoRequest{}, grpc.WaitForReady(true))
			if err != nil {
				t.Fatal(err)
			}
			of[answer.GetRelease()], all[answer.GetRelease()] = true, true
		}
		if len(of) != 1 {
			t.Errorf("the calls of one lineage go to %v", of)
		}
	}
	if len(all) < 4 {
		t.Errorf("12 lineages have the replicas %v of %d", all, len(replicas))
	}
}

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

// restarted is a server that can be restarted at its address.
type restarted struct {
	address string
	stop    func()
}

func (r *restarted) start(t *testing.T) {
	t.Helper()
	c := config.Config{
		ListenAddress: r.address, AdminAddress: "127.0.0.1:0", MaxReceiveMessageBytes: 64 << 20, MaxInFlightBytes: 1 << 30,
		MaxConcurrentStreams: 100, MaxSnapshotBytes: 1 << 30, RateLimitBurst: 1, LogLevel: "error",
	}
	s, err := server.New(t.Context(), c, slog.New(slog.DiscardHandler))
	for deadline := time.Now().Add(10 * time.Second); err != nil && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		s, err = server.New(t.Context(), c, slog.New(slog.DiscardHandler)) // the address is not free yet
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	r.address = s.Address().String()
	r.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestOwnersInARollingUpdate restarts ten servers one after the other while the cluster changes, and counts what is put: by a client
// that uses all replicas, and by one whose calls have two owners.
func TestOwnersInARollingUpdate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const count, callsBetween = 10, 60 // which take as long as a replica needs to be connected again
	perRestart := map[int]float64{}
	for _, owners := range []int{0, 2} {
		replicas := make([]restarted, count)
		var addresses []string
		for i := range replicas {
			replicas[i].address = "127.0.0.1:0"
			replicas[i].start(t)
			addresses = append(addresses, replicas[i].address)
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
		s := snapshot(t, bigcluster.Compact(bigcluster.Random(1000)))
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
			replicas[i].stop()
			ask(callsBetween)
			replicas[i].start(t)
			ask(callsBetween)
		}
		perRestart[owners] = float64(counted.streams.Load()-was) / count
		t.Logf("%d owners: a delta is put in %d streams of %d bytes; a restart leads to %.1f streams of %d bytes, %.2f of the snapshot", owners,
			deltaStreams, deltaBytes, perRestart[owners], (counted.bytes.Load()-had)/count, float64(counted.bytes.Load()-had)/count/float64(whole))
		_ = c.Close()
		for i := range replicas {
			replicas[i].stop()
		}
	}
	if perRestart[2] > perRestart[0]*.7 {
		t.Errorf("a restart leads to %v puts by owners", perRestart)
	}
}
