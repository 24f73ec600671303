package server

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// drainable is three nodes of four CPUs. A budget allows one pod of web at a time, another none of db.
func drainable() *stowagev1.Cluster {
	templates := []*stowagev1.PodTemplate{}
	for _, name := range []string{"web", "db", "logs", "bare"} {
		templates = append(templates, cpuPod(name, 0, 1).GetTemplate())
	}
	for i, kind := range []string{"ReplicaSet", "StatefulSet", "DaemonSet"} {
		templates[i].Controller = &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: kind, Name: "owner"}
	}
	budget := func(name, app string, allowed int32) *stowagev1.PodDisruptionBudget {
		return &stowagev1.PodDisruptionBudget{
			Namespace: "default", Name: name, DisruptionsAllowed: allowed,
			Selector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}
	}
	counts := func(n *stowagev1.Node, by ...uint32) *stowagev1.Node {
		for i, count := range by {
			if count > 0 {
				n.PodCounts = append(n.PodCounts, &stowagev1.PodCount{
					TemplateIndex: uint32(i), Count: count, Readiness: stowagev1.PodReadiness_POD_READINESS_READY,
				})
			}
		}
		return n
	}
	return &stowagev1.Cluster{
		PodTemplates: templates,
		Nodes: []*stowagev1.Node{
			counts(fourCPUs("a"), 2, 0, 1, 0), counts(fourCPUs("b"), 0, 1, 1, 1), counts(fourCPUs("c"), 1, 0, 1, 0),
		},
		PodDisruptionBudgets: []*stowagev1.PodDisruptionBudget{budget("web", "web", 1), budget("db", "db", 0)},
	}
}

// drained returns all messages of a call.
func drained(ctx context.Context, client stowagev1.SimulationServiceClient, in *stowagev1.DrainRequest) ([]*stowagev1.DrainResponse, error) {
	stream, err := client.Drain(ctx, in)
	if err != nil {
		return nil, err
	}
	var out []*stowagev1.DrainResponse
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, part)
	}
}

func TestDrainOverTheWire(t *testing.T) {
	client := stowagev1.NewSimulationServiceClient(run(t, testConfig(), t.Output(), nil, nil).conn)
	in := &stowagev1.DrainRequest{Context: whole(drainable()), IncludeMoves: true}
	got, err := drained(t.Context(), client, in)
	if err != nil {
		t.Fatal(err)
	}
	node := func(index uint32, name string) *stowagev1.NodeList {
		return &stowagev1.NodeList{Indexes: []uint32{index}, Names: []string{name}}
	}
	pods := func(node, template, count uint32) *stowagev1.PodReference {
		return &stowagev1.PodReference{
			Namespace: "default", NodeIndex: new(node), Count: count, Origin: &stowagev1.PodReference_TemplateIndex{TemplateIndex: template},
		}
	}
	of := func(d *stowagev1.NodeDrain) *stowagev1.DrainResponse {
		return &stowagev1.DrainResponse{Part: &stowagev1.DrainResponse_Drain{Drain: d}}
	}
	address := got[len(got)-1].GetSummary().GetSnapshotAddress()
	want := []*stowagev1.DrainResponse{
		of(&stowagev1.NodeDrain{
			Nodes: node(0, "a"), Status: stowagev1.DrainStatus_DRAIN_STATUS_DRAINED, EvictedCount: 2, PlacedCount: 2, StayingCount: 1,
			RoundCount: 2, Moves: []*stowagev1.PodMove{
				{Pod: pods(0, 0, 1), Nodes: node(2, "c")}, {Pod: pods(0, 0, 1), Nodes: node(1, "b"), Round: 1},
			},
		}),
		of(&stowagev1.NodeDrain{
			Nodes: node(1, "b"), Status: stowagev1.DrainStatus_DRAIN_STATUS_BLOCKED, StayingCount: 1, Blocked: []*stowagev1.BlockedPod{
				{
					Pod: pods(1, 1, 1), Reason: stowagev1.BlockedReason_BLOCKED_REASON_BUDGET,
					Budgets: []*stowagev1.NamespacedName{{Namespace: "default", Name: "db"}},
				},
				{Pod: pods(1, 3, 1), Reason: stowagev1.BlockedReason_BLOCKED_REASON_NO_CONTROLLER},
			},
		}),
		of(&stowagev1.NodeDrain{
			Nodes: node(2, "c"), Status: stowagev1.DrainStatus_DRAIN_STATUS_DRAINED, EvictedCount: 1, PlacedCount: 1, StayingCount: 1,
			RoundCount: 1, Moves: []*stowagev1.PodMove{{Pod: pods(2, 0, 1), Nodes: node(0, "a")}},
		}),
		{Part: &stowagev1.DrainResponse_Summary{Summary: &stowagev1.DrainSummary{
			DrainedCount: 2, TotalCount: 3, SnapshotAddress: address,
		}}},
	}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || len(address) != 64 {
		t.Errorf("-want +got:\n%s", diff)
	}
	again, err := drained(t.Context(), client, in)
	if diff := cmp.Diff(got, again, protocmp.Transform()); err != nil || diff != "" {
		t.Errorf("%v, -first +second:\n%s", err, diff)
	}

	in.Mode = stowagev1.DrainMode_DRAIN_MODE_LARGEST_SET
	in.Context.IncludeNodeNames, in.IncludeMoves = false, false
	got, err = drained(t.Context(), client, in)
	if err != nil || len(got) != 2 { // b has room for one more pod
		t.Fatalf("%v, %v", got, err)
	}
	summary := got[1].GetSummary()
	if !summary.GetProven() || summary.GetDrainedCount() != 1 || summary.GetUpperBound() != 1 || summary.GetSteps() == 0 {
		t.Errorf("%v", summary)
	}
	in.Mode, in.Force, in.IgnoreBudgets = stowagev1.DrainMode_DRAIN_MODE_TOGETHER, true, true
	in.Nodes = &stowagev1.CandidateNodes{Names: []string{"b", "c"}}
	if got, err = drained(t.Context(), client, in); err != nil {
		t.Fatal(err)
	}
	d := got[0].GetDrain()
	if d.GetStatus() != stowagev1.DrainStatus_DRAIN_STATUS_UNPLACED || d.GetEvictedCount() != 3 || d.GetPlacedCount() != 1 ||
		len(d.GetUnplaced()) != 1 || d.GetUnplaced()[0].GetMessage() == "" {
		t.Errorf("%v", d)
	}
}

func TestMalformedDrains(t *testing.T) {
	client := stowagev1.NewSimulationServiceClient(run(t, testConfig(), t.Output(), nil, nil).conn)
	for _, test := range []struct {
		field, description string
		change             func(*stowagev1.DrainRequest)
	}{
		{"context", "is required", func(r *stowagev1.DrainRequest) { r.Context = nil }},
		{"context.base", "one of cluster and snapshot is required", func(r *stowagev1.DrainRequest) { r.Context.Base = nil }},
		{"nodes.indexes[1]", "is 3, but cluster.nodes has 3 entries", func(r *stowagev1.DrainRequest) {
			r.Nodes = &stowagev1.CandidateNodes{Indexes: []uint32{0, 3}}
		}},
		{"target_nodes.names[0]", `no node is called "z"`, func(r *stowagev1.DrainRequest) {
			r.TargetNodes = &stowagev1.CandidateNodes{Names: []string{"z"}}
		}},
		{"mode", "must be DRAIN_MODE_EACH, DRAIN_MODE_TOGETHER or DRAIN_MODE_LARGEST_SET", func(r *stowagev1.DrainRequest) { r.Mode = 4 }},
		{"queue_mode", "must be QUEUE_MODE_IN_ORDER or QUEUE_MODE_KUBE_SCHEDULER", func(r *stowagev1.DrainRequest) { r.QueueMode = -1 }},
		{"tie_break", "must be TIE_BREAK_FIRST or TIE_BREAK_FEWEST_PODS", func(r *stowagev1.DrainRequest) { r.TieBreak = 3 }},
		{"evicted_pods", "must be EVICTED_PODS_GONE or EVICTED_PODS_TERMINATING", func(r *stowagev1.DrainRequest) { r.EvictedPods = 3 }},
		{"max_steps", "is 0, 1 to 67108864 are allowed", func(r *stowagev1.DrainRequest) {
			r.Mode, r.MaxSteps = stowagev1.DrainMode_DRAIN_MODE_LARGEST_SET, new(uint32(0))
		}},
		{"max_steps", "is 67108865, 1 to 67108864 are allowed", func(r *stowagev1.DrainRequest) {
			r.Mode, r.MaxSteps = stowagev1.DrainMode_DRAIN_MODE_LARGEST_SET, new(uint32(decode.MaxSteps+1))
		}},
		{"max_steps", "is only allowed with DRAIN_MODE_LARGEST_SET", func(r *stowagev1.DrainRequest) { r.MaxSteps = new(uint32(9)) }},
		{"nodes", "have 2000002 pods, and at most 2000000 are drained at once", func(r *stowagev1.DrainRequest) {
			r.Context.GetCluster().Nodes[0].PodCounts[0].Count = 2_000_001
		}},
		{"nodes", "have 2000002 pods, and at most 2000000 are drained at once", func(r *stowagev1.DrainRequest) {
			r.Mode, r.Nodes = stowagev1.DrainMode_DRAIN_MODE_TOGETHER, &stowagev1.CandidateNodes{Indexes: []uint32{0, 2}}
			r.Context.GetCluster().Nodes[0].PodCounts[0].Count = 1_999_999
		}},
	} {
		r := &stowagev1.DrainRequest{Context: whole(drainable())}
		test.change(r)
		_, err := drained(t.Context(), client, proto.CloneOf(r))
		code, _, _, violations := why(err)
		if code != codes.InvalidArgument || len(violations) != 1 || violations[0].GetField() != test.field ||
			violations[0].GetDescription() != test.description {
			t.Errorf("%s: %v", test.field, err)
		}
	}
	unknown := &stowagev1.DrainRequest{Context: whole(drainable())}
	unknown.ProtoReflect().SetUnknown([]byte{0x98, 0x06, 1})
	if _, err := drained(t.Context(), client, unknown); err == nil {
		t.Error("an unknown field is accepted")
	}
}
