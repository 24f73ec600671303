package stowage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	"github.com/stowage-scheduler/stowage/proto/content"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// snapshots is the part of a replica that keeps them.
type snapshots struct {
	mutex  sync.Mutex
	kept   map[string]*content.Content
	wholes int // streams that brought a whole cluster
	deltas int // streams that brought a delta to a snapshot that was there
	evict  int // evict all snapshots before every evict-th look-up, never if 0
	looks  int
	// during is called in every stream after its first message; its error ends the stream.
	during func(context.Context) error
	// beforeUnknown is called before the answer that a snapshot is not there.
	beforeUnknown func()
	// renamed is the address that is answered instead of the right one.
	renamed string
}

func (s *snapshots) has(address string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.looks++
	if s.evict > 0 && s.looks%s.evict == 0 {
		s.kept = nil
	}
	return s.kept[address] != nil
}

func (s *snapshots) forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.kept = nil
}

func (s *snapshots) puts() (wholes, deltas int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.wholes, s.deltas
}

func (r *replica) PutSnapshot(stream grpc.ClientStreamingServer[stowagev1.PutSnapshotRequest,
	stowagev1.PutSnapshotResponse]) error {
	s := &r.snapshots
	cluster := &stowagev1.Cluster{}
	var result *content.Content
	for want := uint32(0); ; want++ {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		s.mutex.Lock()
		during := s.during
		s.mutex.Unlock()
		if want == 0 && during != nil {
			if err := during(stream.Context()); err != nil {
				return err
			}
		}
		switch step := m.Step.(type) {
		case *stowagev1.PutSnapshotRequest_Part:
			if size := proto.Size(m); size > 1<<20+64<<10 {
				return status.Errorf(codes.InvalidArgument, "a part has %d bytes", size)
			}
			proto.Merge(cluster, step.Part)
			for _, n := range step.Part.Nodes {
				if int(n.GetClassIndex()) >= max(1, len(cluster.NodeClasses)) {
					return status.Error(codes.InvalidArgument, "a node comes before its class")
				}
			}
		case *stowagev1.PutSnapshotRequest_BaseAddress:
			s.mutex.Lock()
			result = s.kept[step.BaseAddress]
			s.mutex.Unlock()
			if result == nil {
				return failure(codes.FailedPrecondition, "UNKNOWN_SNAPSHOT")
			}
		case *stowagev1.PutSnapshotRequest_Delta:
			if result, _, err = result.Apply(context.Background(), step.Delta); err != nil {
				return status.Error(codes.InvalidArgument, err.Error())
			}
		case *stowagev1.PutSnapshotRequest_End:
			if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
				return status.Error(codes.InvalidArgument, "a message after the end")
			}
			byDelta := result != nil
			if !byDelta {
				if result, err = content.Of(cluster); err != nil {
					return status.Error(codes.InvalidArgument, err.Error())
				}
			}
			address := result.Address().String()
			if address != step.End.GetAddress() {
				return failure(codes.InvalidArgument, "ADDRESS_MISMATCH")
			}
			s.mutex.Lock()
			defer s.mutex.Unlock()
			if s.kept == nil {
				s.kept = map[string]*content.Content{}
			}
			s.kept[address] = result
			if byDelta {
				s.deltas++
			} else {
				s.wholes++
			}
			if s.renamed != "" {
				address = s.renamed
			}
			return stream.SendAndClose(&stowagev1.PutSnapshotResponse{Address: address})
		}
	}
}

func snapshot(t *testing.T, cluster *stowagev1.Cluster) *stowage.Snapshot {
	t.Helper()
	s, err := stowage.NewSnapshot(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func clusterOf(names ...string) *stowagev1.Cluster {
	c := &stowagev1.Cluster{}
	for _, name := range names {
		c.Nodes = append(c.Nodes, &stowagev1.Node{Name: name})
	}
	return c
}

// largeCluster returns a cluster whose nodes take about a kilobyte each.
func largeCluster(nodes int) *stowagev1.Cluster {
	c := &stowagev1.Cluster{}
	for i := range nodes {
		labels := map[string]string{}
		for j := range 16 {
			labels[fmt.Sprintf("example.com/a-label-of-nodes-%02d", j)] = fmt.Sprintf("some-value-%06d", i)
		}
		c.Nodes = append(c.Nodes, &stowagev1.Node{Name: fmt.Sprintf("node-%06d", i), Labels: labels})
	}
	return c
}

func with(t *testing.T, s *stowage.Snapshot, node string) *stowage.Snapshot {
	t.Helper()
	next, err := s.With(&stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{{Name: node}}})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func put(t *testing.T, c *stowage.Client, s *stowage.Snapshot) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := c.Put(ctx, s); err != nil {
		t.Fatal(err)
	}
}

func ask(ctx context.Context, c *stowage.Client, s *stowage.Snapshot) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	answer, err := c.Place(ctx, &stowagev1.PlaceRequest{Context: &stowagev1.DecisionContext{
		Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: s.Address()}},
	}})
	if err == nil && answer.PlacedCount != 7 {
		return fmt.Errorf("answer %v", answer)
	}
	return err
}

// serving returns a client that has got a response from every replica.
func serving(t *testing.T, replicas ...*replica) *stowage.Client {
	t.Helper()
	c := dial(t, replicas...)
	for _, r := range replicas {
		for r.calls.Load() == 0 {
			if _, err := c.Place(t.Context(), &stowagev1.PlaceRequest{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

func wantPuts(t *testing.T, r *replica, wholes, deltas int) {
	t.Helper()
	if w, d := r.puts(); w != wholes || d != deltas {
		t.Errorf("%d whole snapshots and %d deltas were put, want %d and %d", w, d, wholes, deltas)
	}
}

func wholes(replicas ...*replica) int {
	sum := 0
	for _, r := range replicas {
		w, _ := r.puts()
		sum += w
	}
	return sum
}

func TestEveryReplicaGetsASnapshotOnce(t *testing.T) {
	a, b := start(t), start(t)
	c := serving(t, a, b)
	s := snapshot(t, clusterOf("n"))
	put(t, c, s)
	for range 20 {
		if err := ask(t.Context(), c, s); err != nil {
			t.Fatal(err)
		}
	}
	wantPuts(t, a, 1, 0)
	wantPuts(t, b, 1, 0)
}

// A replica that gets less than every list of a cluster has another address.
func TestEveryListOfAClusterIsPut(t *testing.T) {
	cluster := &stowagev1.Cluster{}
	m := cluster.ProtoReflect()
	for i := range m.Descriptor().Fields().Len() {
		item := m.Mutable(m.Descriptor().Fields().Get(i)).List().AppendMutable().Message()
		if name := item.Descriptor().Fields().ByName("name"); name != nil {
			item.Set(name, protoreflect.ValueOfString("n"))
		}
	}
	r := start(t)
	c := dial(t, r)
	put(t, c, snapshot(t, cluster))
	wantPuts(t, r, 1, 0)
}

func TestACallIsRepeatedWhereTheSnapshotWasPut(t *testing.T) {
	a, b := start(t), start(t)
	c := serving(t, a, b)
	s := snapshot(t, clusterOf("n"))
	put(t, c, s)
	const calls = 40
	before := wholes(a, b)
	for range calls {
		a.forget()
		b.forget()
		if err := ask(t.Context(), c, s); err != nil {
			t.Fatal(err)
		}
	}
	// A call that takes long is tried on a second replica, which then gets the snapshot as well; on a busy machine some are.
	if puts := wholes(a, b) - before; puts < calls || puts > calls*5/4 {
		t.Errorf("%d puts for %d calls", puts, calls)
	}
}

func TestLateAnswersPutNothingAgain(t *testing.T) {
	r := start(t)
	c := dial(t, r)
	s := snapshot(t, clusterOf("n"))
	put(t, c, s)
	r.forget()
	arrived, release := make(chan struct{}), make(chan struct{})
	r.beforeUnknown = func() { arrived <- struct{}{}; <-release }
	answers := make(chan error)
	for range 2 {
		go func() { answers <- ask(t.Context(), c, s) }()
		<-arrived
	}
	for range 2 {
		release <- struct{}{}
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	wantPuts(t, r, 2, 0)
}

func TestManyCallersPutASnapshotOnce(t *testing.T) {
	a, b := start(t), start(t)
	c := serving(t, a, b)
	s := snapshot(t, largeCluster(500))
	put(t, c, s)
	a.forget()
	b.forget()
	before := wholes(a)
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			if err := ask(t.Context(), c, s); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	wantPuts(t, a, before+1, 0)
	wantPuts(t, b, 2-before, 0)
}

func TestTheNextSnapshotGoesByDelta(t *testing.T) {
	r := start(t)
	c := dial(t, r)
	first := snapshot(t, clusterOf("a"))
	put(t, c, first)
	second := with(t, first, "b")
	put(t, c, second)
	wantPuts(t, r, 1, 1)
	if same := snapshot(t, clusterOf("a", "b")); same.Address() != second.Address() {
		t.Error("the delta leads elsewhere")
	}
	r.forget()
	put(t, c, with(t, second, "c"))
	wantPuts(t, r, 2, 1)
	// The base of the second snapshot is gone as well.
	if err := ask(t.Context(), c, second); err != nil {
		t.Fatal(err)
	}
	wantPuts(t, r, 3, 1)
}

// A server that does not take a delta, for whatever it is to the whole, gets the whole. What says nothing about the delta
// is the put's error.
func TestARefusedDeltaIsFollowedByTheWhole(t *testing.T) {
	for _, c := range []struct {
		name           string
		failure        error
		want           codes.Code
		wholes, deltas int
	}{
		{"refused", failure(codes.InvalidArgument, "INVALID_REQUEST"), codes.OK, 2, 0},
		{"unknown", failure(codes.FailedPrecondition, "UNKNOWN_SNAPSHOT"), codes.OK, 2, 0},
		{"too large by its history", failure(codes.ResourceExhausted, "SNAPSHOT_TOO_LARGE"), codes.OK, 2, 0},
		{"too large a message", status.Error(codes.ResourceExhausted, ""), codes.OK, 2, 0},
		{"failed", failure(codes.Internal, "INTERNAL"), codes.OK, 2, 0},
		{"leads elsewhere", failure(codes.InvalidArgument, "ADDRESS_MISMATCH"), codes.InvalidArgument, 1, 0},
		{"ended", failure(codes.DeadlineExceeded, "CANCELLED"), codes.DeadlineExceeded, 1, 0},
		{"cancelled", status.Error(codes.Canceled, ""), codes.Canceled, 1, 0},
		{"away", status.Error(codes.Unavailable, ""), codes.OK, 1, 1},
		{"overloaded", failure(codes.ResourceExhausted, "OVERLOADED", later), codes.OK, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t)
			client := dial(t, r)
			first := snapshot(t, clusterOf("a"))
			put(t, client, first)
			streams := 0
			r.during = func(context.Context) error {
				if streams++; streams == 1 {
					return c.failure
				}
				return nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			if err := client.Put(ctx, with(t, first, "b")); status.Code(err) != c.want {
				t.Errorf("%v, want %v", err, c.want)
			}
			wantPuts(t, r, c.wholes, c.deltas)
		})
	}
}

func TestSnapshotsGoInParts(t *testing.T) {
	r := start(t)
	c := dial(t, r)
	for _, cluster := range []*stowagev1.Cluster{
		{}, largeCluster(2000), largeCluster(8000),
	} {
		s := snapshot(t, cluster)
		put(t, c, s)
		if err := ask(t.Context(), c, s); err != nil {
			t.Error(err)
		}
	}
	wantPuts(t, r, 3, 0)
}

func TestEvictionsGoUnnoticed(t *testing.T) {
	a, b := start(t), start(t)
	a.evict, b.evict = 3, 2
	c := serving(t, a, b)
	s := snapshot(t, clusterOf("n"))
	put(t, c, s)
	for i := range 30 {
		if err := ask(t.Context(), c, s); err != nil {
			t.Fatal(err)
		}
		s = with(t, s, fmt.Sprint("n-", i))
		put(t, c, s)
	}
}

func TestReplicasMayRestart(t *testing.T) {
	a, b := start(t), start(t)
	c := serving(t, a, b)
	s := snapshot(t, clusterOf("n"))
	put(t, c, s)
	for range 3 {
		a.server.Stop()
		if err := ask(t.Context(), c, s); err != nil {
			t.Fatal(err)
		}
		a = startAt(t, a.address)
		for wholes(a) == 0 {
			if err := ask(t.Context(), c, s); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestACallGoesElsewhereIfItsReplicaGoesAway(t *testing.T) {
	a, b := start(t), start(t)
	c := serving(t, a, b)
	s := snapshot(t, clusterOf("n"))
	put(t, c, s)
	b.forget()
	a.forget()
	a.during = func(ctx context.Context) error {
		go a.server.Stop()
		<-ctx.Done() // the connection has ended
		return io.ErrUnexpectedEOF
	}
	for range 2 {
		if err := ask(t.Context(), c, s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPutsAreTriedAgainWhereThatHelps(t *testing.T) {
	for _, c := range []struct {
		name     string
		failures []error
		want     codes.Code
		streams  int
	}{
		{"the stream was cut", []error{status.Error(codes.Unavailable, "")}, codes.OK, 2},
		{"the server asks for time", []error{failure(codes.ResourceExhausted, "OVERLOADED", later)}, codes.OK, 2},
		{"the snapshot is too large", []error{failure(codes.ResourceExhausted, "SNAPSHOT_TOO_LARGE")}, codes.ResourceExhausted, 1},
		{"the server wants too much time", []error{failure(codes.ResourceExhausted, "OVERLOADED",
			&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Hour)})}, codes.ResourceExhausted, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := start(t)
			streams := 0
			r.during = func(context.Context) error {
				streams++
				if streams <= len(c.failures) {
					return c.failures[streams-1]
				}
				return nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			err := dial(t, r).Put(ctx, snapshot(t, largeCluster(500)))
			if status.Code(err) != c.want || streams != c.streams {
				t.Errorf("%v after %d streams, want %v after %d", err, streams, c.want, c.streams)
			}
		})
	}
}

func TestAFailedPutIsTheCallsError(t *testing.T) {
	r := start(t)
	c := dial(t, r)
	s := snapshot(t, clusterOf("n"))
	put(t, c, s)
	r.forget()
	r.during = func(context.Context) error { return failure(codes.ResourceExhausted, "SNAPSHOT_TOO_LARGE") }
	if err := ask(t.Context(), c, s); stowage.Details(err).Reason != stowagev1.ErrorReason_ERROR_REASON_SNAPSHOT_TOO_LARGE {
		t.Error(err)
	}
}

func TestAWrongAddressIsAnError(t *testing.T) {
	r := start(t)
	r.renamed = "something else"
	if err := dial(t, r).Put(t.Context(), snapshot(t, clusterOf("n"))); status.Code(err) != codes.Internal {
		t.Error(err)
	}
}

func TestFewPutsToAServerThatKeepsNothing(t *testing.T) {
	r := start(t)
	r.evict = 1
	c := dial(t, r)
	s := snapshot(t, clusterOf("n"))
	put(t, c, s)
	if err := ask(t.Context(), c, s); stowage.Details(err).Reason != stowagev1.ErrorReason_ERROR_REASON_UNKNOWN_SNAPSHOT {
		t.Error(err)
	}
	wantPuts(t, r, 4, 0)
}

func TestOlderSnapshotsAreForgotten(t *testing.T) {
	r := start(t)
	c := dial(t, r)
	var all []*stowage.Snapshot
	for i := range stowage.RememberedSnapshots + 1 {
		all = append(all, snapshot(t, clusterOf(fmt.Sprint(i))))
		put(t, c, all[i])
		// The first one is in use all the time.
		if err := ask(t.Context(), c, all[0]); err != nil {
			t.Fatal(err)
		}
	}
	r.forget()
	for i, s := range all {
		err := ask(t.Context(), c, s)
		if forgotten := i == 1; forgotten != (stowage.Details(err).Reason == stowagev1.ErrorReason_ERROR_REASON_UNKNOWN_SNAPSHOT) {
			t.Errorf("snapshot %d: %v", i, err)
		}
	}
}

func TestAPutOutlivesTheCallerThatBeganIt(t *testing.T) {
	r := start(t)
	c := dial(t, r)
	s := snapshot(t, clusterOf("n"))
	put(t, c, s)
	r.forget()
	began, finish := make(chan struct{}), make(chan struct{})
	r.mutex.Lock()
	r.during = func(context.Context) error { close(began); <-finish; return nil }
	r.mutex.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error), make(chan error)
	go func() { first <- ask(ctx, c, s) }()
	<-began
	calls := r.calls.Load()
	go func() { second <- ask(t.Context(), c, s) }()
	for r.calls.Load() == calls {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-first; status.Code(err) != codes.Canceled {
		t.Error(err)
	}
	close(finish)
	if err := <-second; err != nil {
		t.Error(err)
	}
	wantPuts(t, r, 2, 0)
}

func TestMalformedClustersMakeNoSnapshot(t *testing.T) {
	if _, err := stowage.NewSnapshot(clusterOf("n", "n")); err == nil {
		t.Error("two nodes of one name")
	}
	s := snapshot(t, clusterOf("n"))
	_, err := s.With(&stowagev1.ClusterDelta{RemovedNodes: []string{"m"}})
	if e, ok := errors.AsType[*content.Error](err); !ok || e.Field != "removed_nodes[0]" {
		t.Error(err)
	}
}
