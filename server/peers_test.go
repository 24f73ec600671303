package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/proto/content"
	peerv1 "github.com/stowage-scheduler/stowage/proto/stowage/peer/v1"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/config"
)

// TestDifferences expects the difference to a base that the server has, and that a server that has the base gets no more from a peer; and
// all parts where there is no such base.
func TestDifferences(t *testing.T) {
	first := run(t, peering(), t.Output(), nil, nil)
	second := run(t, peering(first.Address().String()), t.Output(), nil, nil)
	cluster := wide()
	base := stored(t, first.client(), cluster)
	changed := proto.CloneOf(cluster)
	changed.Nodes[7].Unschedulable = !changed.Nodes[7].GetUnschedulable()
	changed.Nodes = append(changed.Nodes[:100], changed.Nodes[101:]...)
	to := stored(t, first.client(), changed)
	unknown := strings.Repeat("0", 64)
	for name, test := range map[string]struct {
		bases []string
		want  bool
	}{
		"the base": {[]string{base}, true}, "the snapshot": {[]string{to}, true}, "after another": {[]string{unknown, base}, true},
		"none": {nil, false}, "another": {[]string{unknown}, false}, "one that differs": {[]string{stored(t, first.client(), threeZones())}, false},
	} {
		stream, err := peerv1.NewPeerServiceClient(first.conn).FetchSnapshot(t.Context(), &peerv1.FetchSnapshotRequest{Address: to, BaseAddresses: test.bases})
		if err != nil {
			t.Fatal(err)
		}
		got, err := stream.Recv()
		if err != nil || (got.GetDifference() != nil) != test.want {
			t.Fatalf("%s: %v, %v", name, got.GetDifference(), err)
		}
		if !test.want {
			continue
		}
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the difference %v", name, err)
		}
		d := got.GetDifference()
		if again, err := put(t, first.client(), onto(d.GetAddress()), delta(d.GetDelta()), end(to)); err != nil || again.GetAddress() != to {
			t.Errorf("%s: the difference leads to %v, %v", name, again, err)
		}
		if items := len(d.GetDelta().GetNodes()) + len(d.GetDelta().GetRemovedNodes()); name != "the snapshot" && items != 2 {
			t.Errorf("%s: the difference has %d items", name, items)
		}
	}
	connected(t, second, base)
	received := func() int64 { return second.metric(t, "stowage_snapshots_fetched_bytes_total", "") }
	before := received()
	connected(t, second, to)
	if bytes := received() - before; bytes <= 0 || bytes > 8<<10 {
		t.Errorf("the server gets %d bytes for a snapshot of %d that differs in two nodes from another one", bytes, proto.Size(changed))
	}
}

// gotten returns a snapshot's content as a server sends it to callers.
func gotten(t *testing.T, r *running, address string) ([]*stowagev1.Cluster, error) {
	t.Helper()
	stream, err := r.client().GetSnapshot(t.Context(), &stowagev1.GetSnapshotRequest{Address: address})
	if err != nil {
		return nil, err
	}
	return clusters(stream)
}

// fetched returns a snapshot's content as a server sends it to other replicas.
func fetched(t *testing.T, r *running, request *peerv1.FetchSnapshotRequest) ([]*stowagev1.Cluster, error) {
	t.Helper()
	stream, err := peerv1.NewPeerServiceClient(r.conn).FetchSnapshot(t.Context(), request)
	if err != nil {
		return nil, err
	}
	return clusters(stream)
}

// clusters returns the parts of a stream.
func clusters[M any, P interface {
	*M
	GetPart() *stowagev1.Cluster
}](stream grpc.ServerStreamingClient[M]) (parts []*stowagev1.Cluster, err error) {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return parts, err
		}
		parts = append(parts, P(m).GetPart())
	}
}

// wide returns a cluster of several parts.
func wide() *stowagev1.Cluster {
	c := bigcluster.New(3000)
	c.Namespaces = append(c.Namespaces, &stowagev1.Namespace{Name: "of-its-own"})
	return c
}

// TestGetSnapshot expects the parts of what was put, which have its address, and can be put again.
func TestGetSnapshot(t *testing.T) {
	r := run(t, peering(), t.Output(), nil, nil)
	for name, cluster := range map[string]*stowagev1.Cluster{"empty": {}, "small": threeZones(), "wide": wide()} {
		address := stored(t, r.client(), cluster)
		parts, err := gotten(t, r, address)
		if err != nil || len(parts) == 0 || name == "wide" && len(parts) < 2 {
			t.Fatalf("%s: %d parts, %v", name, len(parts), err)
		}
		peers, err := fetched(t, r, &peerv1.FetchSnapshotRequest{Address: address})
		if err != nil || len(peers) != len(parts) {
			t.Errorf("%s: another replica gets %d parts, %v", name, len(peers), err)
		}
		again := &stowagev1.Cluster{}
		for _, p := range parts {
			if size := proto.Size(p); size > content.PartBytes+content.PartBytes/8 {
				t.Errorf("%s: a part has %d bytes", name, size)
			}
			proto.Merge(again, p)
		}
		if c, err := content.Of(again); err != nil || c.Address().String() != address {
			t.Errorf("%s: the content has another address: %v", name, err)
		}
		other := run(t, peering(), t.Output(), nil, nil)
		if twice := stored(t, other.client(), parts...); twice != address {
			t.Errorf("%s: put again it is %s, not %s", name, twice, address)
		}
	}
	there := stored(t, r.client(), threeZones())
	for _, test := range []struct {
		request *peerv1.FetchSnapshotRequest
		reason  string
	}{
		{&peerv1.FetchSnapshotRequest{Address: strings.Repeat("0", 64)}, "UNKNOWN_SNAPSHOT"},
		{&peerv1.FetchSnapshotRequest{Address: there, Tenant: "a"}, "UNKNOWN_SNAPSHOT"},
		{&peerv1.FetchSnapshotRequest{Address: "x"}, "INVALID_REQUEST"},
		{&peerv1.FetchSnapshotRequest{}, "INVALID_REQUEST"},
		{&peerv1.FetchSnapshotRequest{Address: there, BaseAddresses: []string{"x"}}, "INVALID_REQUEST"},
		{&peerv1.FetchSnapshotRequest{Address: there, BaseAddresses: slices.Repeat([]string{there}, 17)}, "INVALID_REQUEST"},
	} {
		if test.request.Tenant == "" && test.request.BaseAddresses == nil {
			if _, err := gotten(t, r, test.request.GetAddress()); reasonOf(err) != test.reason {
				t.Errorf("GetSnapshot of %q: %v, want %s", test.request.GetAddress(), err, test.reason)
			}
		}
		if _, err := fetched(t, r, test.request); reasonOf(err) != test.reason {
			t.Errorf("%v: %v, want %s", test.request, err, test.reason)
		}
	}
}

// stored puts parts of a cluster and returns the address.
func stored(t *testing.T, c stowagev1.PlacementServiceClient, parts ...*stowagev1.Cluster) string {
	t.Helper()
	var steps []*stowagev1.PutSnapshotRequest
	for _, p := range parts {
		steps = append(steps, part(p))
	}
	got, err := put(t, c, append(steps, end(""))...)
	if err != nil {
		t.Fatal(err)
	}
	return got.GetAddress()
}

// metric returns the value of a metric of which the labels have a text.
func (r *running) metric(t *testing.T, name, label string) int64 {
	t.Helper()
	_, text := r.get(t, "/metrics")
	for line := range strings.Lines(text) {
		series, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		if of, labels, _ := strings.Cut(series, "{"); of == name && strings.Contains(labels, label) {
			value, err := strconv.ParseFloat(n, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int64(value)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// fetched returns how many snapshots a server found elsewhere, and how many it did not.
func (r *running) fetched(t *testing.T) (found, missing int64) {
	t.Helper()
	const name = "stowage_snapshots_fetches_total"
	return r.metric(t, name, `result="found"`), r.metric(t, name, `result="missing"`)
}

// peering is a configuration with room for large snapshots and the given peers.
func peering(addresses ...string) config.Config {
	c := testConfig()
	c.MaxReceiveMessageBytes, c.MaxInFlightBytes, c.MaxSnapshotBytes, c.Peers = 64<<20, 128<<20, 1<<30, addresses
	return c
}

// TestSnapshotsOfPeers expects that a server answers about snapshots that only another one has as that one does, keeps them, and applies
// deltas to them; and that it does not know those that neither has.
func TestSnapshotsOfPeers(t *testing.T) {
	first := run(t, peering(), t.Output(), nil, nil)
	second := run(t, peering(first.Address().String()), t.Output(), nil, nil)
	cluster := wide()
	on := &stowagev1.SnapshotReference{Address: stored(t, first.client(), cluster)}
	request := &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: on}, IncludeNodeNames: true},
		Pod:     &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0}},
	}
	ask := func(r *running) []byte {
		answer, err := r.client().Filter(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := proto.MarshalOptions{Deterministic: true}.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	want := ask(first)
	connected(t, second, on.GetAddress())
	for range 3 {
		if got := ask(second); !bytes.Equal(got, want) {
			t.Fatal("the answers differ")
		}
	}
	if found, missing := second.fetched(t); found != 1 || missing != 0 {
		t.Errorf("of 3 calls about a snapshot %d found it elsewhere, %d did not", found, missing)
	}

	other := stored(t, first.client(), threeZones())
	larger, added := threeZones(), &stowagev1.Node{Name: "of-the-delta"}
	larger.Nodes = append(larger.Nodes, added)
	changed, err := put(t, second.client(), onto(other), delta(&stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{added}}),
		end(addressOf(t, larger)))
	if err != nil || changed.GetNodeCount() != uint32(len(larger.Nodes)) {
		t.Errorf("a delta to a snapshot of the peer: %v, %v", changed, err)
	}
	third := stored(t, first.client(), &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "x"}}})
	if there, err := put(t, second.client(), end(third)); err != nil || there.GetAddress() != third {
		t.Errorf("a look-up of a snapshot of the peer: %v, %v", there, err)
	}
	on.Address = strings.Repeat("0", 64)
	if _, err := second.client().Filter(t.Context(), request); reasonOf(err) != "UNKNOWN_SNAPSHOT" {
		t.Errorf("a snapshot that neither has: %v", err)
	}
	if found, missing := second.fetched(t); found != 3 || missing != 1 {
		t.Errorf("%d were found elsewhere, %d not", found, missing)
	}
}

// connected waits until a server has found a snapshot at a peer.
func connected(t *testing.T, r *running, address string) {
	t.Helper()
	eventually(t, "a peer is connected", func() bool {
		_, err := put(t, r.client(), end(address))
		return err == nil
	})
}

// odd is a replica that sends something else than the snapshots that it is asked for.
type odd struct {
	peerv1.UnimplementedPeerServiceServer
	send  func(grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error
	calls atomic.Int64
}

func (o *odd) FetchSnapshot(_ *peerv1.FetchSnapshotRequest, s grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
	o.calls.Add(1)
	return o.send(s)
}

func partOf(c *stowagev1.Cluster) *peerv1.FetchSnapshotResponse {
	return &peerv1.FetchSnapshotResponse{Content: &peerv1.FetchSnapshotResponse_Part{Part: c}}
}

func differenceTo(base string) *peerv1.FetchSnapshotResponse {
	return &peerv1.FetchSnapshotResponse{Content: &peerv1.FetchSnapshotResponse_Difference{Difference: &stowagev1.SnapshotReference{
		Address: base, Delta: &stowagev1.ClusterDelta{Nodes: []*stowagev1.Node{{Name: "new"}}},
	}}}
}

func serveOdd(t *testing.T, send func(grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error) (*odd, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o, s := &odd{send: send}, grpc.NewServer()
	peerv1.RegisterPeerServiceServer(s, o)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return o, l.Addr().String()
}

// TestOddPeers expects that a peer that sends another snapshot, an invalid one, half of one, none, or nothing at all, does not keep the
// server from getting it from another one, or from saying within a second that it does not have it.
func TestOddPeers(t *testing.T) {
	cluster := wide()
	address := addressOf(t, cluster)
	sending := func(parts ...*stowagev1.Cluster) func(grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
		return func(s grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
			for _, p := range parts {
				if err := s.Send(partOf(p)); err != nil {
					return err
				}
			}
			return nil
		}
	}
	half := &stowagev1.Cluster{PodTemplates: cluster.PodTemplates, NodeClasses: cluster.NodeClasses, Nodes: cluster.Nodes[:100]}
	for name, send := range map[string]func(grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error{
		"another snapshot": sending(threeZones()),
		"half of it":       sending(half),
		"an invalid one":   sending(&stowagev1.Cluster{Nodes: []*stowagev1.Node{{}}}),
		"no part":          sending(),
		"a difference to a snapshot that is not there": func(s grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
			return s.Send(differenceTo(strings.Repeat("0", 64)))
		},
		"a difference that leads elsewhere": func(s grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
			return s.Send(differenceTo(addressOf(t, threeZones())))
		},
		"a difference and a part": func(s grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
			_ = s.Send(differenceTo(addressOf(t, threeZones())))
			return s.Send(partOf(half))
		},
		"a part and a difference": func(s grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
			_ = s.Send(partOf(half))
			return s.Send(differenceTo(addressOf(t, threeZones())))
		},
		"an error after a part": func(s grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
			_ = s.Send(partOf(half))
			return errors.New("broken")
		},
		"nothing": func(s grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
			<-s.Context().Done()
			return s.Context().Err()
		},
		"nothing after a part": func(s grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
			_ = s.Send(partOf(half))
			<-s.Context().Done()
			return s.Context().Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			peer, at := serveOdd(t, send)
			r := run(t, peering(at), t.Output(), nil, nil)
			stored(t, r.client(), threeZones())
			eventually(t, "the peer is asked", func() bool {
				begin := time.Now()
				_, err := put(t, r.client(), end(address))
				if reasonOf(err) != "UNKNOWN_SNAPSHOT" || time.Since(begin) > 20*time.Second {
					t.Fatalf("after %v: %v", time.Since(begin), err)
				}
				return peer.calls.Load() > 0
			})
			if name == "nothing" { // it is left out for a while
				before := peer.calls.Load()
				for range 20 {
					_, _ = put(t, r.client(), end(address))
				}
				if n := peer.calls.Load() - before; n > 2 {
					t.Errorf("the peer that does not answer is asked %d times", n)
				}
			}
			good := run(t, peering(), t.Output(), nil, nil)
			stored(t, good.client(), cluster)
			both := run(t, peering(at, good.Address().String()), t.Output(), nil, nil)
			connected(t, both, address)
		})
	}
}

// TestOneFetch expects that calls about one snapshot share a fetch, also where the caller who began it goes away.
func TestOneFetch(t *testing.T) {
	cluster := threeZones()
	address := addressOf(t, cluster)
	var leave sync.Once
	left := make(chan context.CancelFunc, 1)
	peer, at := serveOdd(t, func(s grpc.ServerStreamingServer[peerv1.FetchSnapshotResponse]) error {
		leave.Do(func() { (<-left)() })
		time.Sleep(20 * time.Millisecond)
		return s.Send(partOf(cluster))
	})
	r := run(t, peering(at), t.Output(), nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	left <- cancel
	ask := func(ctx context.Context) error {
		_, err := r.client().Score(ctx, &stowagev1.ScoreRequest{
			Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: address}}},
			Pod:     &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}},
		})
		return err
	}
	eventually(t, "the peer is asked", func() bool {
		if err := ask(ctx); err == nil {
			t.Fatal("the caller who leaves has an answer")
		}
		return peer.calls.Load() > 0
	})
	var all sync.WaitGroup
	var failed atomic.Int64
	for range 50 {
		all.Go(func() {
			if err := ask(t.Context()); err != nil {
				failed.Add(1)
				t.Log(err)
			}
		})
	}
	all.Wait()
	if found, _ := r.fetched(t); failed.Load() > 0 || found != 1 || peer.calls.Load() > 3 {
		t.Errorf("%d of 50 calls fail; the peer was asked %d times, %d snapshots came from it", failed.Load(), peer.calls.Load(), found)
	}
}

// TestPeersOfTenants has two replicas that show each other their certificate. A caller gets answers about the snapshots that the
// caller's tenant has at the peer, not about those of another one. Only peers may name a tenant.
func TestPeersOfTenants(t *testing.T) {
	certFile, keyFile, _, pool := certificate(t)
	access := filepath.Join(t.TempDir(), "access.yaml")
	rules := "tokens:\n" + tokenRule("a", "a's") + tokenRule("b", "b's") + `rules:
- {callers: ["token:a"], tenant: a, methods: ["*"]}
- {callers: ["token:b"], tenant: b, methods: ["*"]}
- {callers: ["subject:CN=test"], tenant: "*", methods: [FetchSnapshot]}
`
	if err := os.WriteFile(access, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	replica := func(addresses ...string) *running {
		c := peering(addresses...)
		c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile, c.AccessFile = certFile, keyFile, certFile, access
		if len(addresses) > 0 {
			c.PeerCAFile = certFile
		}
		return run(t, c, t.Output(), nil, credentials.NewTLS(&tls.Config{RootCAs: pool}))
	}
	first := replica()
	second := replica(first.Address().String())
	as := func(token string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	}
	step := func(r *running, token string, steps ...*stowagev1.PutSnapshotRequest) error {
		stream, err := r.client().PutSnapshot(as(token))
		if err != nil {
			return err
		}
		for _, s := range steps {
			if err := stream.Send(s); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		}
		_, err = stream.CloseAndRecv()
		return err
	}
	address := addressOf(t, threeZones())
	if err := step(first, "a's", part(threeZones()), end(address)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a's snapshot is found", func() bool { return step(second, "a's", end(address)) == nil })
	if err := step(second, "b's", end(address)); reasonOf(err) != "UNKNOWN_SNAPSHOT" {
		t.Errorf("a's snapshot for b: %v", err)
	}
	certified, err := grpc.NewClient(first.Address().String(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		RootCAs: pool, Certificates: []tls.Certificate{keyPair(t, certFile, keyFile)},
	})))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = certified.Close() }()
	for _, test := range []struct{ caller, tenant, reason string }{
		{"a's", "", ""}, {"a's", "a", ""}, {"a's", "b", "UNKNOWN_SNAPSHOT"}, {"a's", "*", "UNKNOWN_SNAPSHOT"},
		{"b's", "", "UNKNOWN_SNAPSHOT"}, {"b's", "a", "UNKNOWN_SNAPSHOT"},
		{"", "a", ""}, {"", "b", "UNKNOWN_SNAPSHOT"}, {"", "", "UNKNOWN_SNAPSHOT"}, {"", "*", "UNKNOWN_SNAPSHOT"},
	} {
		ctx, conn := t.Context(), certified
		if test.caller != "" {
			ctx, conn = as(test.caller), first.conn
		}
		stream, err := peerv1.NewPeerServiceClient(conn).FetchSnapshot(ctx,
			&peerv1.FetchSnapshotRequest{Address: address, Tenant: test.tenant})
		if err == nil {
			_, err = stream.Recv()
		}
		if reasonOf(err) != test.reason || test.reason == "" && err != nil {
			t.Errorf("%q gets the snapshot of tenant %q: %v, want %q", test.caller, test.tenant, err, test.reason)
		}
	}
	if err := step(first, "a's", end(address)); err != nil {
		t.Error(err)
	}
	stream, err := stowagev1.NewPlacementServiceClient(certified).PutSnapshot(t.Context())
	if err == nil {
		_, err = stream.CloseAndRecv()
	}
	if reasonOf(err) != "FORBIDDEN" {
		t.Errorf("a peer puts a snapshot: %v", err)
	}
}

func keyPair(t *testing.T, certFile, keyFile string) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}
