package placement_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/decode"
)

func replicas(n uint32) *stowagev1.ScaleDownRequest {
	return &stowagev1.ScaleDownRequest{
		Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster()}, IncludeNodeNames: true,
		}, Replicas: new(n),
		Pod: &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: 0}},
	}
}

// TestScaleDown deletes 39 counted pods on 20 nodes.
func TestScaleDown(t *testing.T) {
	s := service(t)
	a, err := s.ScaleDown(t.Context(), replicas(9))
	if err != nil {
		t.Fatal(err)
	}
	deleted, remain := uint32(0), uint32(0)
	for _, d := range a.Deletions {
		if deleted += d.Pod.Count; d.DeletionCost != int32(deleted)-31 || d.Pod.Name != "" || d.NodeName == "" {
			t.Errorf("after %d deletions: %v", deleted, d)
		}
	}
	for _, r := range a.Remaining {
		if remain += r.Pod.Count; r.DeletionCost != 0 {
			t.Errorf("remains, and costs: %v", r)
		}
	}
	if deleted != 30 || remain != 9 {
		t.Errorf("%d deleted, %d remain, want 30 and 9", deleted, remain)
	}
	again, err := s.ScaleDown(t.Context(), replicas(9))
	if err != nil || !proto.Equal(a, again) {
		t.Errorf("another answer to the same request, %v", err)
	}
	for _, n := range []uint32{39, 40, 1<<32 - 1} {
		if a, err := s.ScaleDown(t.Context(), replicas(n)); err != nil || len(a.Deletions) > 0 {
			t.Errorf("%d replicas: %v, %v", n, a.GetDeletions(), err)
		}
	}
}

func TestScaleDownRefuses(t *testing.T) {
	for field, change := range map[string]func(*stowagev1.ScaleDownRequest){
		"context":            func(r *stowagev1.ScaleDownRequest) { r.Context = nil },
		"context.base":       func(r *stowagev1.ScaleDownRequest) { r.Context.Base = nil },
		"pod":                func(r *stowagev1.ScaleDownRequest) { r.Pod = nil },
		"pod.template_index": func(r *stowagev1.ScaleDownRequest) { r.Pod.Source = &stowagev1.Pod_TemplateIndex{TemplateIndex: 7} },
		"selector":           func(r *stowagev1.ScaleDownRequest) { r.GetContext().GetCluster().PodTemplates[0].Labels = nil },
		`selector.match_labels["-"]`: func(r *stowagev1.ScaleDownRequest) {
			r.Selector = &stowagev1.LabelSelector{MatchLabels: map[string]string{"-": ""}}
		},
		"replicas": func(r *stowagev1.ScaleDownRequest) { r.GetContext().GetCluster().Nodes[0].PodCounts[0].Count = 1 << 20 },
	} {
		r := replicas(3)
		change(r)
		_, err := service(t).ScaleDown(t.Context(), r)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), field+":") &&
			!strings.Contains(err.Error(), field+" ") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestChanges sends requests with and without include_changes, which have different cache keys.
func TestChanges(t *testing.T) {
	s := service(t)
	keys := map[string]bool{}
	for _, changes := range []bool{false, true} {
		p := pod()
		p.GetTemplate().Spec.Containers[0].Requests.CpuMillis = proto.Int64(4001)
		r := &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster()},
		}, Pod: p, IncludeChanges: changes}
		encoded, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		asked, err := decode.ReadRequestPods(encoded, new(stowagev1.FilterRequest))
		if err != nil {
			t.Fatal(err)
		}
		keys[decode.FilterKey(r, asked)] = true
		a, err := s.Filter(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.FeasibleNodes.Indexes) > 0 || (len(a.Changes) > 0) != changes {
			t.Errorf("asked for changes %t: %v", changes, a)
		}
	}
	if len(keys) != 2 || keys[""] {
		t.Errorf("remembered under %v", keys)
	}
}
