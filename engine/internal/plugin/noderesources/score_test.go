package noderesources

import (
	"context"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

func TestStrategies(t *testing.T) {
	both := []api.ResourceWeight{{Resource: "cpu", Weight: 1}, {Resource: "memory", Weight: 1}}
	falling := []api.ShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}}
	for name, tc := range map[string]struct {
		strategy api.ScoringStrategy
		taken    []any // by the pod that is on the node, which has 1000 CPU and 1000 memory
		asked    []any
		want     int64
	}{
		"least: each resource's score is rounded down": {
			api.ScoringStrategy{Resources: both}, []any{"cpu", 0, "memory", 0}, []any{"cpu", 333, "memory", 5}, (66 + 99) / 2,
		},
		"least: a resource with too much taken scores 0 and counts": {
			api.ScoringStrategy{Resources: both}, []any{"cpu", 2000, "memory", 0}, []any{"cpu", 0, "memory", 500}, (0 + 50) / 2,
		},
		"least: weights": {
			api.ScoringStrategy{Resources: []api.ResourceWeight{{Resource: "cpu", Weight: 3}, {Resource: "memory", Weight: 1}}},
			[]any{"cpu", 0, "memory", 0}, []any{"cpu", 200, "memory", 600}, (3*80 + 40) / 4,
		},
		"most: more than all is all": {
			api.ScoringStrategy{Type: api.MostAllocated, Resources: both},
			[]any{"cpu", 5000, "memory", 0}, []any{"cpu", 0, "memory", 500}, (100 + 50) / 2,
		},
		"ratio: a resource that scores 0 is left out": {
			api.ScoringStrategy{Type: api.RequestedToCapacityRatio, Resources: both, Shape: falling},
			[]any{"cpu", 0, "memory", 0}, []any{"cpu", 1000, "memory", 600}, 40,
		},
		"ratio: all of them": {
			api.ScoringStrategy{Type: api.RequestedToCapacityRatio, Resources: both, Shape: falling},
			[]any{"cpu", 0, "memory", 0}, []any{"cpu", 1000, "memory", 1000}, 0,
		},
		"ratio: the mean is rounded to nearest": {
			api.ScoringStrategy{Type: api.RequestedToCapacityRatio, Resources: both, Shape: falling},
			[]any{"cpu", 0, "memory", 0}, []any{"cpu", 100, "memory", 210}, 85, // (90 + 79) / 2 = 84.5
		},
		"ratio: too much taken is full": {
			api.ScoringStrategy{Type: api.RequestedToCapacityRatio, Resources: both, Shape: []api.ShapePoint{{Utilization: 0, Score: 0}, {Utilization: 100, Score: 10}}},
			[]any{"cpu", 5000, "memory", 0}, []any{"cpu", 0, "memory", 500}, (100 + 50) / 2,
		},
		"a resource that the node lacks is left out": {
			api.ScoringStrategy{Resources: append([]api.ResourceWeight{{Resource: "example.com/gpu", Weight: 9}}, both...)},
			[]any{"cpu", 0, "memory", 0}, []any{"cpu", 500, "memory", 500}, 50,
		},
	} {
		node := enginetest.MakeNode("n").Allocate("cpu", 1000, "memory", 1000, "pods", 10).Run(enginetest.MakePod("there").Request(tc.taken...))
		compiled, err := cluster.Compile(context.Background(), enginetest.Cluster(node))
		if err != nil {
			t.Fatal(err)
		}
		state := cluster.NewState(context.Background(), compiled)
		profile := api.Kube137()
		profile.Scoring = tc.strategy
		pod := enginetest.MakePod("p").Request(tc.asked...).Pod
		got := Score(&plugin.Cycle{State: state, Pod: state.Compile(&pod), Profile: profile}, []uint32{0})
		if got[0] != tc.want {
			t.Errorf("%s: %d, want %d", name, got[0], tc.want)
		}
	}
}
