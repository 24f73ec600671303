package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (r *running) simulations() stowagev1.SimulationServiceClient {
	return stowagev1.NewSimulationServiceClient(r.conn)
}

// twoZones is nodes of four and of eight CPUs in two zones, and one of four CPUs in none.
func twoZones() *stowagev1.Cluster {
	a, b, c := fourCPUs("a", cpuPod("old", 1, 1)), fourCPUs("b"), fourCPUs("c")
	a.Labels, b.Labels = map[string]string{zone: "z-1"}, map[string]string{zone: "z-0"}
	b.Allocatable.CpuMillis = new(int64(8000))
	return &stowagev1.Cluster{Nodes: []*stowagev1.Node{a, b, c}}
}

// TestFit counts a mix of 3 CPUs and twice 1 CPU.
func TestFit(t *testing.T) {
	r := snapshotConfig(t)
	stored, err := put(t, r.client(), part(twoZones()), end(""))
	if err != nil {
		t.Fatal(err)
	}
	large, small := cpuPod("large", 1, 3), cpuPod("small", 1, 1)
	small.Unread = []*stowagev1.UnreadField{{Object: "Pod default/small", Field: "spec.x", Consequence: "It needs x."}}
	ask := func(on *stowagev1.DecisionContext) *stowagev1.FitResponse {
		t.Helper()
		got, err := r.simulations().Fit(t.Context(), &stowagev1.FitRequest{
			Context: on, Mix: []*stowagev1.FitPod{{Pod: large}, {Pod: small, Count: new(uint32(2))}},
			TopologyKey: zone, IncludeChanges: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	// The large pods go where the most is left, and leave the small ones the other nodes.
	got := ask(whole(twoZones()))
	changes := got.Changes
	got.Changes = nil
	want := &stowagev1.FitResponse{
		Units: 2,
		Pods: []*stowagev1.FitPods{
			{Nodes: &stowagev1.NodeList{Indexes: []uint32{1}, Names: []string{"b"}}, Counts: []uint32{2}},
			{
				Nodes:  &stowagev1.NodeList{Indexes: []uint32{0, 2}, Names: []string{"a", "c"}},
				Counts: []uint32{2, 2},
			},
		},
		Domains: []*stowagev1.FitDomain{
			{Value: "z-0", PlacedCounts: []uint32{2, 0}, UnitsAlone: 1},
			{Value: "z-1", PlacedCounts: []uint32{0, 2}},
		},
		BindingMixIndex: new(uint32(0)),
		Rejections:      got.Rejections,
		Message:         "0/3 nodes are available: 3 Insufficient cpu.",
		SnapshotAddress: addressOf(t, twoZones()),
		Doubts: []*stowagev1.Doubt{{
			Kind: stowagev1.DoubtKind_DOUBT_KIND_UNREAD_FIELD, Unread: small.Unread[0],
			Pod: &stowagev1.PodReference{Namespace: "default", Name: "small", Count: 2, Origin: &stowagev1.PodReference_QueueIndex{QueueIndex: 1}},
		}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(changes) == 0 || slices.ContainsFunc(changes, func(c *stowagev1.FitChange) bool { return c.Units <= want.Units }) {
		t.Errorf("changes %v", changes)
	}
	again, stated := ask(&stowagev1.DecisionContext{
		Base:             &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: stored.Address}},
		IncludeNodeNames: true,
	}), ask(whole(twoZones()))
	if diff := cmp.Diff(stated, again, protocmp.Transform()); diff != "" || len(stated.Rejections) != 1 {
		t.Errorf("by the snapshot, -want +got:\n%s\n%v", diff, stated)
	}
}

// TestFitLimited stops at a number of units.
func TestFitLimited(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	got, err := r.simulations().Fit(t.Context(), &stowagev1.FitRequest{
		Context: whole(twoZones()), Mix: []*stowagev1.FitPod{{Pod: smallPod()}}, MaxUnits: new(uint32(3)), IncludeChanges: true,
	})
	if err != nil || got.Units != 3 || !got.Limited || got.BindingMixIndex != nil || got.Message != "" || len(got.Rejections) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestMalformedFit expects that the decoder and the annotations refuse the same fields.
func TestMalformedFit(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	sound := func() *stowagev1.FitRequest {
		return &stowagev1.FitRequest{Context: whole(twoZones()), Mix: []*stowagev1.FitPod{{Pod: smallPod()}, {Pod: smallPod()}}}
	}
	if err := v.Validate(sound()); err != nil {
		t.Fatal(err)
	}
	hosts := &stowagev1.Cluster{}
	for i := range 10_001 {
		hosts.Nodes = append(hosts.Nodes, &stowagev1.Node{Name: fmt.Sprint(i), Labels: map[string]string{"host": fmt.Sprint(i)}})
	}
	long := strings.Repeat("k", 318)
	for _, test := range []struct {
		field  string
		change func(*stowagev1.FitRequest)
		// only is set for what annotations cannot say.
		only bool
	}{
		{"context", func(r *stowagev1.FitRequest) { r.Context = nil }, false},
		{"context.base", func(r *stowagev1.FitRequest) { r.Context.Base = nil }, false},
		{"mix", func(r *stowagev1.FitRequest) { r.Mix = nil }, false},
		{"mix", func(r *stowagev1.FitRequest) { r.Mix = slices.Repeat(r.Mix, 501) }, false},
		{"mix", func(r *stowagev1.FitRequest) { r.Mix[0].Count = new(uint32(1_000_000)) }, true},
		{"mix[1].count", func(r *stowagev1.FitRequest) { r.Mix[1].Count = new(uint32(0)) }, false},
		{"mix[0].count", func(r *stowagev1.FitRequest) { r.Mix[0].Count = new(uint32(1_000_001)) }, false},
		{"mix[1].pod", func(r *stowagev1.FitRequest) { r.Mix[1].Pod = nil }, false},
		{"mix[1]", func(r *stowagev1.FitRequest) { r.Mix[1] = &stowagev1.FitPod{} }, false},
		{"mix[0].pod.template_index", func(r *stowagev1.FitRequest) {
			r.Mix[0].Pod.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: 3}
		}, true},
		{"mix[1].pod.name", func(r *stowagev1.FitRequest) { r.Mix[1].Pod.Name = long }, false},
		{"mix[1].pod.start_time", func(r *stowagev1.FitRequest) { startedAt(r.Mix[1].Pod, 5) }, true},
		{"candidate_nodes.indexes[0]", func(r *stowagev1.FitRequest) {
			r.CandidateNodes = &stowagev1.CandidateNodes{Indexes: []uint32{3}}
		}, true},
		{"max_units", func(r *stowagev1.FitRequest) { r.MaxUnits = new(uint32(0)) }, false},
		{"max_units", func(r *stowagev1.FitRequest) { r.MaxUnits = new(uint32(1_000_001)) }, false},
		{"tie_break", func(r *stowagev1.FitRequest) { r.TieBreak = 3 }, false},
		{"topology_key", func(r *stowagev1.FitRequest) { r.TopologyKey = long }, false},
		{"topology_key", func(r *stowagev1.FitRequest) { r.Context, r.TopologyKey = whole(hosts), "host" }, true},
	} {
		request := sound()
		test.change(request)
		_, err := r.simulations().Fit(t.Context(), request)
		code, reason, _, violations := why(err)
		named := slices.ContainsFunc(violations, func(v *errdetails.BadRequest_FieldViolation) bool {
			return strings.HasPrefix(v.GetField(), test.field)
		})
		if code != codes.InvalidArgument || reason != "INVALID_REQUEST" || !named {
			t.Errorf("%s: %v", test.field, err)
		}
		if refused := v.Validate(request) != nil; refused == test.only {
			t.Errorf("%s: the annotations refuse it: %t", test.field, refused)
		}
	}
	within := sound()
	within.Context, within.TopologyKey = whole(hosts), "host"
	within.CandidateNodes = &stowagev1.CandidateNodes{Indexes: []uint32{7}}
	if got, err := r.simulations().Fit(t.Context(), within); err != nil || len(got.Domains) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
