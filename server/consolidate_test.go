package server

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func priced(price uint64, names ...string) *stowagev1.PricedNodes {
	return &stowagev1.PricedNodes{Nodes: &stowagev1.CandidateNodes{Names: names}, Price: price}
}

// TestConsolidate removes one node and replaces another one. A budget and a pod without a controller keep the third one.
func TestConsolidate(t *testing.T) {
	r := snapshotConfig(t)
	stored, err := put(t, r.client(), part(drainable()), end(""))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(on *stowagev1.DecisionContext) *stowagev1.ConsolidateResponse {
		t.Helper()
		got, err := r.simulations().Consolidate(t.Context(), &stowagev1.ConsolidateRequest{
			Context: on, Candidates: []*stowagev1.PricedNodes{priced(12, "c"), priced(10, "b", "a")},
			Templates: []*stowagev1.NodeTemplate{nodeTemplate("small", "z", 3, 5)},
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := ask(whole(drainable()))
	node := func(index uint32, name string) *stowagev1.NodeList {
		return &stowagev1.NodeList{Indexes: []uint32{index}, Names: []string{name}}
	}
	web := func(node uint32, count uint32) *stowagev1.PodReference {
		return &stowagev1.PodReference{
			Namespace: "default", NodeIndex: new(node), Count: count, Origin: &stowagev1.PodReference_TemplateIndex{TemplateIndex: 0},
		}
	}
	one := func(n uint32) *stowagev1.PodReference { return web(n, 1) }
	bare := web(1, 1)
	bare.Origin = &stowagev1.PodReference_TemplateIndex{TemplateIndex: 3}
	db := web(1, 1)
	db.Origin = &stowagev1.PodReference_TemplateIndex{TemplateIndex: 1}
	want := &stowagev1.ConsolidateResponse{
		Actions: []*stowagev1.ConsolidateAction{
			{
				Drain: &stowagev1.NodeDrain{
					Nodes: node(2, "c"), Status: stowagev1.DrainStatus_DRAIN_STATUS_DRAINED, EvictedCount: 1, PlacedCount: 1,
					StayingCount: 1, RoundCount: 1, Moves: []*stowagev1.PodMove{{Pod: one(2), Nodes: node(0, "a")}},
				},
				CostBefore: 32, CostAfter: 20,
			},
			{
				Drain: &stowagev1.NodeDrain{
					Nodes: node(0, "a"), Status: stowagev1.DrainStatus_DRAIN_STATUS_DRAINED, EvictedCount: 3, PlacedCount: 3,
					StayingCount: 1, RoundCount: 3, Moves: got.GetActions()[1].GetDrain().GetMoves(),
				},
				TemplateIndex: new(uint32(0)), NewNodeIndex: new(uint32(3)), NewNodeName: "small-0", CostBefore: 20, CostAfter: 15,
			},
		},
		CostBefore: 32, CostAfter: 15, LowerBound: 15, Optimal: true,
		Kept: []*stowagev1.KeptNode{{
			Drain: &stowagev1.NodeDrain{
				Nodes: node(1, "b"), Status: stowagev1.DrainStatus_DRAIN_STATUS_BLOCKED, EvictedCount: 1, PlacedCount: 1,
				StayingCount: 1, RoundCount: 1, // the pod that came from c
				Blocked: []*stowagev1.BlockedPod{
					{
						Pod: db, Reason: stowagev1.BlockedReason_BLOCKED_REASON_BUDGET,
						Budgets: []*stowagev1.NamespacedName{{Namespace: "default", Name: "db"}},
					},
					{Pod: bare, Reason: stowagev1.BlockedReason_BLOCKED_REASON_NO_CONTROLLER},
				},
			},
			Reason: stowagev1.KeptReason_KEPT_REASON_PODS,
		}},
		Steps: got.Steps, SnapshotAddress: addressOf(t, drainable()),
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var to []string
	for _, m := range got.Actions[1].Drain.Moves {
		to = append(to, m.Nodes.Names...)
	}
	if !slices.Contains(to, "small-0") || len(to) != 3 {
		t.Errorf("the pods of a go to %v", to)
	}
	again := ask(&stowagev1.DecisionContext{
		Base:             &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: stored.Address}},
		IncludeNodeNames: true,
	})
	if diff := cmp.Diff(got, again, protocmp.Transform()); diff != "" {
		t.Errorf("by the snapshot, -inline +snapshot:\n%s", diff)
	}
}

// TestMalformedConsolidation expects that the decoder and the annotations refuse the same fields.
func TestMalformedConsolidation(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	v, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	sound := func() *stowagev1.ConsolidateRequest {
		return &stowagev1.ConsolidateRequest{
			Context: whole(twoZones()), Candidates: []*stowagev1.PricedNodes{priced(1, "a"), priced(1e12, "b")},
			Templates: []*stowagev1.NodeTemplate{nodeTemplate("a-0", "z", 1, 1), nodeTemplate("b", "z", 1, 1e12)},
		}
	}
	if err := v.Validate(sound()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.simulations().Consolidate(t.Context(), sound()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		field  string
		change func(*stowagev1.ConsolidateRequest)
		// only is set for what annotations cannot say.
		only bool
	}{
		{"context", func(r *stowagev1.ConsolidateRequest) { r.Context = nil }, false},
		{"context.base", func(r *stowagev1.ConsolidateRequest) { r.Context.Base = nil }, false},
		{"candidates", func(r *stowagev1.ConsolidateRequest) { r.Candidates = nil }, false},
		{"candidates", func(r *stowagev1.ConsolidateRequest) { r.Candidates = slices.Repeat(r.Candidates, 50_001) }, false},
		{"candidates[1].price", func(r *stowagev1.ConsolidateRequest) { r.Candidates[1].Price++ }, false},
		{"candidates[1].nodes", func(r *stowagev1.ConsolidateRequest) { r.Candidates[1].Nodes.Names = []string{"c", "a"} }, true},
		{"candidates[1].nodes", func(r *stowagev1.ConsolidateRequest) { r.Candidates[1].Nodes = nil }, true},
		{"candidates[0].nodes.names[0]", func(r *stowagev1.ConsolidateRequest) { r.Candidates[0].Nodes.Names[0] = "x" }, true},
		{"candidates[0].nodes.indexes[0]", func(r *stowagev1.ConsolidateRequest) {
			r.Candidates[0].Nodes.Indexes = []uint32{3}
		}, true},
		{"max_actions", func(r *stowagev1.ConsolidateRequest) { r.MaxActions = new(uint32(0)) }, false},
		{"max_actions", func(r *stowagev1.ConsolidateRequest) { r.MaxActions = new(uint32(100_001)) }, false},
		{"max_nodes_per_action", func(r *stowagev1.ConsolidateRequest) { r.MaxNodesPerAction = new(uint32(0)) }, false},
		{"max_nodes_per_action", func(r *stowagev1.ConsolidateRequest) { r.MaxNodesPerAction = new(uint32(1001)) }, false},
		{"max_steps", func(r *stowagev1.ConsolidateRequest) { r.MaxSteps = new(uint32(0)) }, false},
		{"max_steps", func(r *stowagev1.ConsolidateRequest) { r.MaxSteps = new(uint32(1<<26 + 1)) }, false},
		{"evicted_pods", func(r *stowagev1.ConsolidateRequest) { r.EvictedPods = 3 }, false},
		{"tie_break", func(r *stowagev1.ConsolidateRequest) { r.TieBreak = 9 }, false},
		{"templates", func(r *stowagev1.ConsolidateRequest) { r.Templates = slices.Repeat(r.Templates, 5001) }, false},
		{"templates[1].node", func(r *stowagev1.ConsolidateRequest) { r.Templates[1].Node = nil }, false},
		{"templates[1].node.name", func(r *stowagev1.ConsolidateRequest) { r.Templates[1].Node.Name = "a-0" }, true},
		{"templates[1].price", func(r *stowagev1.ConsolidateRequest) { r.Templates[1].Price++ }, false},
		{"templates[0].node", func(r *stowagev1.ConsolidateRequest) {
			r.Context.GetCluster().PodTemplates = []*stowagev1.PodTemplate{{}}
			r.Templates[0].Node.PodCounts = []*stowagev1.PodCount{{Count: 1001}}
		}, true},
	} {
		request := sound()
		test.change(request)
		_, err := r.simulations().Consolidate(t.Context(), request)
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
}

// manyNodes is a cluster whose consolidation takes long.
func manyNodes() *stowagev1.ConsolidateRequest {
	cluster := drainable()
	cluster.PodDisruptionBudgets = nil
	for range 11 {
		cluster.Nodes = append(cluster.Nodes, cluster.Nodes...)
	}
	named := &stowagev1.Cluster{PodTemplates: cluster.PodTemplates}
	for i, n := range cluster.Nodes {
		at := fourCPUs("n" + strings.Repeat("x", i%50) + "-" + string(rune('a'+i/50%26)) + string(rune('a'+i/1300)))
		at.PodCounts = n.PodCounts
		if i%3 == 1 {
			at.PodCounts = []*stowagev1.PodCount{{TemplateIndex: 0, Count: 2}}
		}
		named.Nodes = append(named.Nodes, at)
	}
	return &stowagev1.ConsolidateRequest{
		Context: whole(named), Candidates: []*stowagev1.PricedNodes{{Price: 3}}, MaxSteps: new(uint32(1 << 26)),
	}
}

// TestConsolidationAtDeadline ends calls by their deadlines: with an error, or if requested with the actions so far.
func TestConsolidationAtDeadline(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	request := manyNodes()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := r.simulations().Consolidate(ctx, request); why1(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
	request.AllowPartial = true
	ask := func() (*stowagev1.ConsolidateResponse, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return r.simulations().Consolidate(ctx, request)
	}
	got, err := ask()
	for end := time.Now().Add(10 * time.Second); why1(err) == codes.ResourceExhausted && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) // the first call's bytes are in flight until its handler has ended
		got, err = ask()
	}
	if err != nil || !got.Partial || got.Optimal || len(got.Kept) > 0 || got.CostAfter > got.CostBefore {
		t.Errorf("%v, partial %t, %d after %d", err, got.GetPartial(), got.GetCostAfter(), got.GetCostBefore())
	}
}

func why1(err error) codes.Code {
	code, _, _, _ := why(err)
	return code
}
