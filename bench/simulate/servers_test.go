package simulate

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/wire"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first seed of the simulations")
	seeds     = flag.Uint64("seeds", 0, "how many seeds are simulated; 0 is a few")
)

// simulated calls a simulation with each seed.
func simulated(t *testing.T, few uint64, simulate func(t *testing.T, seed uint64)) {
	n := *seeds
	if n == 0 {
		if n = few; testing.Short() {
			n = max(1, few/10)
		}
	}
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		if (seed-*firstSeed)%1000 == 999 {
			t.Logf("%d of %d seeds", seed-*firstSeed+1, n)
		}
		synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestServers has clients put snapshots and deltas to three replicas, and ask about them, while replicas are killed, drained, cut off,
// slow, or have no room for the snapshots. In two of three simulations they get snapshots from each other.
//
// Each answer must be the one that the cluster of its address has. As long as one replica at a time fails, every call is answered within
// its deadline; only a stream may end after its first part. When all replicas have failed, calls may fail until they are back for a
// while.
func TestServers(t *testing.T) {
	var all tally
	simulated(t, 60, func(t *testing.T, seed uint64) {
		for _, violation := range simulateServers(t, seed, nil, &all) {
			t.Errorf("seed %d: %s", seed, violation)
		}
	})
	t.Logf("%d calls, %d of them failed while all replicas did; replicas killed %d times, drained %d, in a black hole %d, slow %d, cut off %d",
		all.calls, all.failed, all.faults[killed], all.faults[drained], all.faults[blackHole], all.faults[slow], all.faults[cutOff])
	for kind, n := range all.faults {
		if n == 0 && !testing.Short() && *seeds == 0 {
			t.Errorf("no fault of kind %d", kind)
		}
	}
}

// The faults of a replica.
const (
	killed = iota
	drained
	blackHole
	slow
	cutOff
	kindsOfFaults
)

// tally counts what happened in all simulations.
type tally struct {
	calls, failed int
	faults        [kindsOfFaults]int
}

// TestFaultyServersAreFound has servers that answer about another snapshot, or lose a delta.
func TestFaultyServersAreFound(t *testing.T) {
	for name, fault := range map[string]grpc.UnaryServerInterceptor{
		"an answer about an earlier snapshot": stale(),
		"no answer at times": func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			if time.Now().UnixMilli()%7 == 0 {
				return nil, status.Error(codes.Internal, "lost")
			}
			return h(ctx, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				var violations []string
				synctest.Test(t, func(t *testing.T) { violations = simulateServers(t, seed, fault, new(tally)) })
				if len(violations) > 0 {
					return
				}
			}
			t.Error("it is not found")
		})
	}
}

// stale answers some calls with the answer that was given to another call of the method.
func stale() grpc.UnaryServerInterceptor {
	var mutex sync.Mutex
	last := make(map[string]any)
	n := 0
	return func(ctx context.Context, r any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		answer, err := h(ctx, r)
		mutex.Lock()
		defer mutex.Unlock()
		n++
		if old := last[info.FullMethod]; err == nil && old != nil && n%10 == 0 {
			return old, nil
		}
		if encoded, ok := answer.(wire.Encoded); ok {
			last[info.FullMethod] = append(wire.Encoded(nil), encoded...)
		}
		return answer, err
	}
}

var replicas = []string{"replica-0", "replica-1", "replica-2"}

type servers struct {
	t         *testing.T
	rng       *rand.Rand // of the faults
	network   *network
	fault     grpc.UnaryServerInterceptor
	running   [3]*grpc.Server
	services  [3]*placement.Service
	reference *placement.Service
	// failing is true while more than one replica may fail.
	failing bool

	mutex      sync.Mutex
	violations []string
	tally      *tally
}

// simulateServers returns what went wrong. fault is how servers are faulty, nil for not at all.
func simulateServers(t *testing.T, seed uint64, fault grpc.UnaryServerInterceptor, all *tally) []string {
	s := &servers{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), network: newNetwork(seed), fault: fault,
		reference: placement.New(64<<20, nil), failing: seed%4 == 0, tally: all,
	}
	for i := range replicas {
		s.start(i)
	}
	var clients []*stowage.Client
	var callers, faults sync.WaitGroup
	over := make(chan struct{})
	for c := range 2 {
		client, err := stowage.Dial(replicas, grpc.WithContextDialer(s.network.dial), stowage.WithPatience(20*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, client)
		for k := range 2 {
			callers.Go(func() { s.call(client, rand.New(rand.NewPCG(seed, uint64(10+10*c+k)))) })
		}
	}
	faults.Go(func() { s.breakThings(over) })
	callers.Wait()
	close(over)
	faults.Wait()
	time.Sleep(time.Minute) // puts go on without their callers; a client that is closed meanwhile waits for a lock, not for the time
	for _, c := range clients {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for i := range replicas {
		s.network.down(replicas[i])
		s.running[i].Stop()
	}
	return s.violations
}

func (s *servers) violated(format string, args ...any) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

// start starts a replica without snapshots. Some have room for few.
func (s *servers) start(i int) {
	room := int64(64 << 20)
	if s.rng.IntN(3) == 0 {
		room = 150 << 10
	}
	var o []grpc.ServerOption
	if s.fault != nil {
		o = append(o, grpc.UnaryInterceptor(s.fault))
	}
	s.services[i] = placement.New(room, nil)
	s.running[i] = serve(s.network.listen(replicas[i]), s.services[i], o...)
}

// serve starts a server of a service.
func serve(l net.Listener, service *placement.Service, o ...grpc.ServerOption) *grpc.Server {
	g := grpc.NewServer(append(o, grpc.ForceServerCodecV2(wire.NewCodec()),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}))...)
	placement.Register(g, service)
	h := health.NewServer()
	h.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	healthv1.RegisterHealthServer(g, h)
	go func() { _ = g.Serve(l) }()
	return g
}

// breakThings has replicas fail until the callers are done.
func (s *servers) breakThings(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(s.rng.Int64N(int64(3 * time.Second)))):
		}
		of := []int{s.rng.IntN(len(replicas))}
		if s.failing && s.rng.IntN(2) == 0 {
			of = []int{0, 1, 2}
		}
		kind, lasts := s.rng.IntN(kindsOfFaults), time.Duration(s.rng.Int64N(int64(8*time.Second)))
		var all sync.WaitGroup
		for _, i := range of {
			all.Go(func() { s.fail(i, kind, lasts) })
		}
		all.Wait()
	}
}

func (s *servers) fail(i, kind int, lasts time.Duration) {
	at := replicas[i]
	s.mutex.Lock()
	s.tally.faults[kind]++
	s.mutex.Unlock()
	switch kind {
	case killed:
		s.network.down(at)
		s.running[i].Stop()
		time.Sleep(lasts)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.start(i)
	case drained:
		done := make(chan struct{})
		go func() { s.running[i].GracefulStop(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			s.running[i].Stop()
			<-done
		}
		s.network.down(at)
		time.Sleep(lasts)
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.start(i)
	case blackHole:
		s.network.hole(at, true)
		time.Sleep(lasts)
		s.network.hole(at, false)
	case slow:
		s.network.slow(at, 300*time.Millisecond)
		time.Sleep(lasts)
		s.network.slow(at, 0)
	case cutOff:
		s.network.cut(at)
	}
}

// callDeadline is each call's deadline.
const callDeadline = 10 * time.Second

// call has a cluster change, puts it, and asks about it.
func (s *servers) call(client *stowage.Client, rng *rand.Rand) {
	m := newModel(rng)
	snapshot, err := stowage.NewSnapshot(m.cluster)
	if err != nil {
		s.t.Error(err)
		return
	}
	put := func() bool {
		return s.answered("Put", func(ctx context.Context) error { return client.Put(ctx, snapshot) })
	}
	there := put()
	// A client forgets a snapshot that it has not used for long, while it put others. Then the caller has to put it again.
	putting := func(call func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error {
			err := call(ctx)
			if stowage.Details(err).Reason == stowagev1.ErrorReason_ERROR_REASON_UNKNOWN_SNAPSHOT {
				if err = client.Put(ctx, snapshot); err == nil {
					err = call(ctx)
				}
			}
			return err
		}
	}
	for range 40 {
		time.Sleep(time.Duration(rng.Int64N(int64(400 * time.Millisecond))))
		if rng.IntN(3) == 0 {
			delta := m.change()
			next, err := snapshot.With(delta)
			if err != nil {
				s.violated("a delta does not apply: %v", err)
				return
			}
			snapshot = next
			there = put()
		}
		if !there { // of replicas that fail together
			there = put()
			continue
		}
		s.ask(&question{client, m, snapshot.Address(), rng, putting})
	}
}

// answered makes a call, and reports whether it was answered. It checks whether it had to be.
func (s *servers) answered(name string, call func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), callDeadline)
	defer cancel()
	begin := time.Now()
	err := call(ctx)
	code := status.Code(err)
	s.mutex.Lock()
	s.tally.calls++
	if err != nil {
		s.tally.failed++
	}
	s.mutex.Unlock()
	if err != nil && (!s.failing || code != codes.Unavailable && code != codes.DeadlineExceeded) {
		s.violated("%s fails after %v: %v", name, time.Since(begin), err)
	}
	return err == nil
}

// question is what a caller asks about a snapshot.
type question struct {
	client  *stowage.Client
	model   *model
	address string
	rng     *rand.Rand
	putting func(call func(context.Context) error) func(context.Context) error
}

func (s *servers) ask(q *question) {
	context := func(base bool) *stowagev1.DecisionContext {
		c := &stowagev1.DecisionContext{IncludeNodeNames: true, Base: &stowagev1.DecisionContext_Cluster{Cluster: q.model.cluster}}
		if !base {
			c.Base = &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: q.address}}
		}
		return c
	}
	pod := q.model.pod()
	switch q.rng.IntN(4) {
	case 0:
		same(s, q, "Filter", q.client.Filter, s.reference.Filter, func(whole bool) *stowagev1.FilterRequest {
			return &stowagev1.FilterRequest{Context: context(whole), Pod: pod, Explain: true}
		})
	case 1:
		same(s, q, "Score", q.client.Score, s.reference.Score, func(whole bool) *stowagev1.ScoreRequest {
			return &stowagev1.ScoreRequest{Context: context(whole), Pod: pod, IncludeRejections: true}
		})
	case 2:
		same(s, q, "Place", q.client.Place, s.reference.Place, func(whole bool) *stowagev1.PlaceRequest {
			return &stowagev1.PlaceRequest{Context: context(whole), Queue: []*stowagev1.PendingPods{{Pod: pod, Count: proto.Uint32(5)}}}
		})
	default:
		s.drain(q, context)
	}
}

// same compares the answer of the replicas to a call with the answer about the whole cluster.
func same[Q, A proto.Message](
	s *servers, q *question, name string, call func(context.Context, Q, ...grpc.CallOption) (A, error), reference func(context.Context, Q) (A, error),
	request func(whole bool) Q,
) {
	var got A
	if !s.answered(name, q.putting(func(ctx context.Context) (err error) {
		got, err = call(ctx, request(false))
		return err
	})) {
		return
	}
	want, err := reference(context.Background(), request(true))
	if err != nil {
		s.violated("%s of the whole cluster: %v", name, err)
		return
	}
	if !proto.Equal(want, got) {
		s.violated("%s is answered with\n%v\nwant\n%v", name, got, want)
	}
}

// drain compares the parts of a stream. It may end early if its replica fails, and is then repeated.
func (s *servers) drain(q *question, about func(whole bool) *stowagev1.DecisionContext) {
	request := func(whole bool) *stowagev1.DrainRequest {
		return &stowagev1.DrainRequest{Context: about(whole), Mode: stowagev1.DrainMode_DRAIN_MODE_EACH, IncludeMoves: true}
	}
	var got []*stowagev1.DrainResponse
	if !s.answered("Drain", q.putting(func(ctx context.Context) error {
		for {
			got = nil
			err := func() error {
				stream, err := q.client.Drain(ctx, request(false))
				for err == nil {
					var part *stowagev1.DrainResponse
					if part, err = stream.Recv(); err == nil {
						got = append(got, part)
					}
				}
				return err
			}()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if status.Code(err) != codes.Unavailable || len(got) == 0 || ctx.Err() != nil {
				return err
			}
		}
	})) {
		return
	}
	to := &parts{ctx: context.Background()}
	if err := s.reference.Drain(request(true), to); err != nil {
		s.violated("Drain of the whole cluster: %v", err)
		return
	}
	if len(to.all) != len(got) {
		s.violated("Drain has %d parts, want %d", len(got), len(to.all))
		return
	}
	for i := range got {
		if !proto.Equal(got[i], to.all[i]) {
			s.violated("part %d of Drain is\n%v\nwant\n%v", i, got[i], to.all[i])
		}
	}
}

type parts struct {
	grpc.ServerStream
	ctx context.Context
	all []*stowagev1.DrainResponse
}

func (p *parts) Context() context.Context { return p.ctx }
func (p *parts) Send(part *stowagev1.DrainResponse) error {
	p.all = append(p.all, part)
	return nil
}

// model is a cluster that changes.
type model struct {
	rng     *rand.Rand
	cluster *stowagev1.Cluster
	nodes   int // that there were so far
	pods    int
}

func newModel(rng *rand.Rand) *model {
	m := &model{rng: rng, cluster: &stowagev1.Cluster{}}
	for i := range 3 {
		m.cluster.PodTemplates = append(m.cluster.PodTemplates, m.template(i))
	}
	for range 4 + rng.IntN(4) {
		m.cluster.Nodes = append(m.cluster.Nodes, m.node())
	}
	return m
}

func (m *model) template(i int) *stowagev1.PodTemplate {
	app := fmt.Sprint("app-", i)
	spec := &stowagev1.PodSpec{Containers: []*stowagev1.Container{{
		Name: "main", Requests: &stowagev1.Resources{CpuMillis: proto.Int64(500), MemoryBytes: proto.Int64(1 << 20)},
	}}}
	selector := &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	switch i {
	case 1:
		spec.TopologySpreadConstraints = []*stowagev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: "zone", LabelSelector: selector,
			WhenUnsatisfiable: stowagev1.UnsatisfiableAction_UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE,
		}}
	case 2:
		spec.Affinity = &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{
			Required: []*stowagev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname", LabelSelector: selector}},
		}}
	}
	return &stowagev1.PodTemplate{
		Namespace: "default", Labels: map[string]string{"app": app}, Spec: spec,
		Controller: &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: app},
	}
}

func (m *model) node() *stowagev1.Node {
	m.nodes++
	name := fmt.Sprint("node-", m.nodes)
	return &stowagev1.Node{
		Name: name, Labels: map[string]string{"zone": fmt.Sprint("zone-", m.nodes%3), "kubernetes.io/hostname": name},
		Allocatable: &stowagev1.Resources{CpuMillis: proto.Int64(4000), MemoryBytes: proto.Int64(1 << 30), Pods: proto.Int64(110)},
		PodCounts:   []*stowagev1.PodCount{{TemplateIndex: uint32(m.rng.IntN(3)), Count: 1 + uint32(m.rng.IntN(3))}},
	}
}

func (m *model) pod() *stowagev1.Pod {
	return &stowagev1.Pod{Name: "asked", Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: uint32(m.rng.IntN(3))}}
}

// change changes the cluster, and returns the delta that does the same.
func (m *model) change() *stowagev1.ClusterDelta {
	c := proto.CloneOf(m.cluster)
	d := new(stowagev1.ClusterDelta)
	at := m.rng.IntN(len(c.Nodes))
	switch n, what := c.Nodes[at], m.rng.IntN(9); {
	case what < 3:
		added := m.node()
		c.Nodes = append(c.Nodes, added)
		d.Nodes = []*stowagev1.Node{added}
	case what < 5 && len(c.Nodes) > 3:
		d.RemovedNodes = []string{n.Name}
		c.Nodes = append(c.Nodes[:at], c.Nodes[at+1:]...)
	case what < 7:
		n.Unschedulable = !n.Unschedulable
		d.Nodes = []*stowagev1.Node{n}
	default:
		m.pods++
		p := &stowagev1.Pod{Name: strings.Repeat("p", 1+m.rng.IntN(3)) + fmt.Sprint(m.pods), Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0}}
		n.Pods = append(n.Pods, p)
		d.NodePods = []*stowagev1.NodePodsDelta{{NodeName: n.Name, Pods: []*stowagev1.Pod{p}}}
	}
	m.cluster = c
	return d
}
