package noderesources

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

// TestFree compares dividing floats with dividing integers, above all where a quotient is close to an integer.
func TestFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allocatable := rapid.OneOf(
			rapid.Int64Range(1, 1000), rapid.Int64Range(1, maxExact), rapid.Int64Range(maxExact-1000, maxExact+1000),
		).Draw(t, "allocatable")
		percent := rapid.Int64Range(0, 100).Draw(t, "percent")
		left := min(max(allocatable/100*percent+allocatable%100*percent/100+rapid.Int64Range(-2, 2).Draw(t, "off"), 0), allocatable)
		if got, want := free(allocatable, allocatable-left), left*plugin.MaxScore/allocatable; got != want {
			t.Errorf("%d of %d is free: %d%%, want %d%%", left, allocatable, got, want)
		}
	})
	if free(0, 0) != 0 || free(10, 11) != 0 {
		t.Error("nothing is free where nothing is left")
	}
}

// TestBalancedRemembers asks about pods for which other resources count, in turn, of one cluster and of new ones.
func TestBalancedRemembers(t *testing.T) {
	ctx := context.Background()
	node := enginetest.MakeNode("n").Allocate("cpu", 1000, "memory", 1000, "example.com/gpu", 8, "pods", 10).
		Run(enginetest.MakePod("there").Request("cpu", 800, "memory", 100, "example.com/gpu", 1))
	compiled := func() *cluster.Cluster {
		c, err := cluster.Compile(ctx, enginetest.Cluster(node))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	profile := api.Kube137()
	profile.BalancedResources = []string{"cpu", "memory", "example.com/gpu"}
	score := func(c *cluster.Cluster, asked ...any) int64 {
		state := cluster.NewState(ctx, c)
		pod := enginetest.MakePod("p").Request(asked...).Pod
		return BalancedScore(&plugin.Cycle{State: state, Pod: state.Compile(&pod), Profile: profile}, []uint32{0})[0]
	}
	shared := compiled()
	seen := make(map[int64]bool)
	for range 2 {
		for _, asked := range [][]any{{"cpu", 100}, {"cpu", 100, "example.com/gpu", 4}, {"memory", 700}} {
			got, want := score(shared, asked...), score(compiled(), asked...)
			if got != want {
				t.Errorf("%v: %d, want %d", asked, got, want)
			}
			seen[want] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("the pods' scores are not different: %v", seen)
	}
}

// TestSpecialLoops compares the loops for two usual resources with those for any.
func TestSpecialLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := func(of string) int64 { return rapid.Int64Range(0, 50).Draw(t, of) }
		node := enginetest.MakeNode("n").Allocate("cpu", amount("cpu"), "memory", amount("memory"), "pods", 10).
			Run(enginetest.MakePod("there").Request("cpu", amount("cpu used"), "memory", amount("memory used")))
		c, err := cluster.Compile(context.Background(), enginetest.Cluster(node))
		if err != nil {
			t.Fatal(err)
		}
		columns := make([]column, 2)
		for lane := range columns {
			columns[lane] = newColumn(c.Amounts(), cluster.LaneNames[lane], nil, false)
			columns[lane].weight, columns[lane].request = 1, amount("request")
		}
		scores := make([]int64, 1)
		leastAllocatedOfTwo(&columns[0], &columns[1], []uint32{0}, scores)
		if want := leastAllocated(columns, 0); scores[0] != want {
			t.Errorf("least allocated: %d, want %d", scores[0], want)
		}
		for _, withPod := range []bool{false, true} {
			var more [2]int64
			if withPod {
				more = [2]int64{columns[0].request, columns[1].request}
			}
			of := twoOf(&columns[0], &columns[1], 0)
			allocatableA, allocatedA, allocatableB, allocatedB := of.on(0)
			got := evennessOfTwo(allocatedA+more[0], allocatableA, allocatedB+more[1], allocatableB)
			if want := evenness(columns, 0, withPod, nil); got != want {
				t.Errorf("evenness with the pod %t: %d, want %d", withPod, got, want)
			}
		}
	})
}
