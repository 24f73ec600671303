package servertest_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"

	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// all reads a whole stream.
func all[M any](t *testing.T, stream grpc.ServerStreamingClient[M], err error) (parts []*M) {
	t.Helper()
	for err == nil {
		var part *M
		if part, err = stream.Recv(); err == nil {
			parts = append(parts, part)
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return parts
}

// Each server receives every RPC of SimulationService with a snapshot that it does not have.
func TestSimulationsAboutAnUnknownSnapshotPutIt(t *testing.T) {
	cluster := &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "x"}, {Name: "y"}}}
	ten, controller := new(int64(10)), &stowagev1.ControllerReference{ApiVersion: "apps/v1", Kind: "ReplicaSet", Name: "web"}
	cluster.PodTemplates = []*stowagev1.PodTemplate{{Controller: controller, Spec: &stowagev1.PodSpec{}}}
	for _, n := range cluster.Nodes {
		n.Allocatable = &stowagev1.Resources{Pods: ten}
		n.PodCounts = []*stowagev1.PodCount{{TemplateIndex: 0, Count: 2}}
	}
	s := newSnapshot(t, cluster)
	on := &stowagev1.DecisionContext{
		IncludeNodeNames: true,
		Base:             &stowagev1.DecisionContext_Snapshot{Snapshot: &stowagev1.SnapshotReference{Address: s.Address()}},
	}
	web := &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0}}
	whatIf := func(t *testing.T, c *stowage.Client) {
		stream, err := c.WhatIf(t.Context(), &stowagev1.WhatIfRequest{Context: on, Scenarios: []*stowagev1.Scenario{
			{Queue: []*stowagev1.PendingPods{{Pod: web, Count: new(uint32(20))}}},
			{Evictions: []*stowagev1.NodeEvictions{{NodeName: "x", Drained: true}}, RemovedNodes: []string{"x"}, RequeueEvicted: true},
		}})
		answers := all(t, stream, err)
		if len(answers) != 2 || answers[0].Placement.Placements[0].UnplacedCount != 4 {
			t.Fatalf("WhatIf: %v", answers)
		}
		if names := answers[1].Placement.Placements[0].Nodes.GetNames(); !slices.Equal(names, []string{"y", "y"}) {
			t.Errorf("WhatIf: the pods of x come back on %v", names)
		}
	}
	drain := func(t *testing.T, c *stowage.Client) {
		stream, err := c.Drain(t.Context(), &stowagev1.DrainRequest{Context: on})
		parts := all(t, stream, err)
		if len(parts) != 3 || parts[0].GetDrain() == nil || parts[1].GetDrain() == nil || parts[2].GetSummary() == nil {
			t.Errorf("Drain: %v", parts)
		}
	}
	fit := func(t *testing.T, c *stowage.Client) {
		answer, err := c.Fit(t.Context(), &stowagev1.FitRequest{Context: on, Mix: []*stowagev1.FitPod{{Pod: web}}})
		if err != nil || answer.Units != 16 {
			t.Errorf("Fit: %v, %v", answer, err)
		}
	}
	provision := func(t *testing.T, c *stowage.Client) {
		node := &stowagev1.Node{Name: "new", Allocatable: &stowagev1.Resources{Pods: new(int64(8))}}
		answer, err := c.Provision(t.Context(), &stowagev1.ProvisionRequest{
			Context: on, Queue: []*stowagev1.PendingPods{{Pod: web, Count: new(uint32(20))}},
			Templates: []*stowagev1.NodeTemplate{{Node: node, Price: 1}},
		})
		if err != nil || len(answer.NodeNames) == 0 || answer.Place.PlacedCount != 20 {
			t.Errorf("Provision: %v, %v", answer, err)
		}
	}
	consolidate := func(t *testing.T, c *stowage.Client) {
		answer, err := c.Consolidate(t.Context(), &stowagev1.ConsolidateRequest{
			Context: on, Candidates: []*stowagev1.PricedNodes{{Price: 3}},
		})
		if err != nil || len(answer.Actions) != 1 || !answer.Optimal || answer.CostAfter != 3 {
			t.Errorf("Consolidate: %v, %v", answer, err)
		}
	}
	for name, ask := range map[string]func(*testing.T, *stowage.Client){
		"WhatIf": whatIf, "Drain": drain, "Fit": fit, "Provision": provision, "Consolidate": consolidate,
	} {
		t.Run(name, func(t *testing.T) {
			first, second := serve(t, 1<<30), serve(t, 1<<30)
			c, err := stowage.Dial([]string{first, second})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.Put(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				ask(t, c)
			}
		})
	}
}
