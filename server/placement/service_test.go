package placement_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/placement"
	"github.com/stowage-scheduler/stowage/server/telemetry"
)

func service(t *testing.T) *placement.Service {
	t.Helper()
	tel, err := telemetry.New(t.Context(), "stowage", "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return placement.New(0, tel.Decisions)
}

// cluster has many maps, whose iteration order is random.
func cluster() *stowagev1.Cluster {
	c := &stowagev1.Cluster{PodTemplates: []*stowagev1.PodTemplate{{Labels: map[string]string{"app": "a", "b": "c", "d": "e"}}}}
	for i := range 20 {
		c.Nodes = append(c.Nodes, &stowagev1.Node{
			Name:   fmt.Sprint("node-", i),
			Labels: map[string]string{"zone": fmt.Sprint(i % 3), "rack": fmt.Sprint(i % 7), "x": "1", "y": "2", "z": "3"},
			Taints: []*stowagev1.Taint{{Key: fmt.Sprint("t", i%4), Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE}},
			Allocatable: &stowagev1.Resources{
				CpuMillis: proto.Int64(4000), MemoryBytes: proto.Int64(8 << 30), Pods: proto.Int64(10),
				Scalars: map[string]int64{"example.com/a": 1, "example.com/b": 2, "example.com/c": 3},
			},
			PodCounts: []*stowagev1.PodCount{{Count: uint32(i%3 + 1)}},
		})
	}
	return c
}

func pod() *stowagev1.Pod {
	term := &stowagev1.PodAffinityTerm{
		LabelSelector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": "a", "b": "c"}}, TopologyKey: "zone",
	}
	return &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{
		Spec: &stowagev1.PodSpec{
			Tolerations: []*stowagev1.Toleration{
				{Key: "t1", Operator: stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS},
				{Key: "t2", Operator: stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS},
			},
			Affinity: &stowagev1.Affinity{PodAffinity: &stowagev1.PodAffinity{
				Preferred: []*stowagev1.WeightedPodAffinityTerm{{Weight: 5, Term: term}},
			}},
			Containers: []*stowagev1.Container{{Requests: &stowagev1.Resources{
				CpuMillis: proto.Int64(1500), Scalars: map[string]int64{"example.com/a": 1, "example.com/c": 1},
			}}},
		},
	}}}
}

func TestSameRequestSameBytes(t *testing.T) {
	s, ctx := service(t), t.Context()
	for name, call := range map[string]func() (proto.Message, error){
		"Filter": func() (proto.Message, error) {
			return s.Filter(ctx, &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster()},
			}, Pod: pod(), Explain: true})
		},
		"Score": func() (proto.Message, error) {
			return s.Score(ctx, &stowagev1.ScoreRequest{Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster()}, IncludeNodeNames: true,
			}, Pod: pod()})
		},
		"Place": func() (proto.Message, error) {
			return s.Place(ctx, &stowagev1.PlaceRequest{
				Context: &stowagev1.DecisionContext{
					Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster()},
				}, Queue: []*stowagev1.PendingPods{{Pod: pod(), Count: new(uint32(40))}, {Pod: pod()}}, TieBreakSeed: 7, Explain: true,
			})
		},
	} {
		var first []byte
		for range 20 {
			answer, err := call()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			wire, err := proto.Marshal(answer)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = wire
			}
			if len(wire) == 0 || !bytes.Equal(first, wire) {
				t.Fatalf("%s: the answer is empty or differs from the first", name)
			}
		}
	}
}

func TestEndedContexts(t *testing.T) {
	s := service(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancelLate := context.WithTimeout(t.Context(), 0)
	defer cancelLate()
	for want, ctx := range map[codes.Code]context.Context{codes.Canceled: cancelled, codes.DeadlineExceeded: late} {
		_, filter := s.Filter(ctx, &stowagev1.FilterRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster()},
		}, Pod: pod()})
		_, score := s.Score(ctx, &stowagev1.ScoreRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster()},
		}, Pod: pod()})
		_, place := s.Place(ctx, &stowagev1.PlaceRequest{
			Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster()},
			}, Queue: []*stowagev1.PendingPods{{Pod: pod(), Count: new(uint32(40))}},
		})
		_, preempt := s.Preempt(ctx, &stowagev1.PreemptRequest{Context: &stowagev1.DecisionContext{
			Base: &stowagev1.DecisionContext_Cluster{Cluster: cluster()},
		}, Pod: pod()})
		for name, err := range map[string]error{"Filter": filter, "Score": score, "Place": place, "Preempt": preempt} {
			if got := status.Code(err); got != want {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
	}
}
