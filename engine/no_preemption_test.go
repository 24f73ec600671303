package engine_test

import (
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestProfileWithoutPreemption: no answer names a victim, and no queue evicts one, if the profile disables DefaultPreemption.
func TestProfileWithoutPreemption(t *testing.T) {
	low := enginetest.MakePod("low").Request("cpu", 8000)
	high := enginetest.MakePod("high").Request("cpu", 8000).Priority(10)
	without := api.Kube137()
	without.DisabledPostFilters.DefaultPreemption = true
	none := api.Kube137()
	none.DisabledPostFilters = api.PostFilters{DefaultPreemption: true, DynamicResources: true}
	const filter = "0/1 nodes are available: 1 Insufficient cpu."
	for name, p := range map[string]*api.Profile{"without DefaultPreemption": without, "without both": none} {
		t.Run(name, func(t *testing.T) {
			c := compile(t, enginetest.MakeNode("a").Run(low))
			f, err := c.Filter(t.Context(), &high.Pod, engine.FilterOptions{Profile: p, Preempt: &engine.PreemptOptions{
				All: true, AcrossSteps: 1000, Safe: &engine.SafeOptions{Candidates: 10},
			}})
			if err != nil {
				t.Fatal(err)
			}
			if f.Message != filter || f.Preemption != nil && (f.Preemption.Nominated != nil || f.Preemption.Across != nil) {
				t.Errorf("Filter: %q, %+v", f.Message, f.Preemption)
			}
			for _, scheduler := range []bool{false, true} {
				queue := []engine.Pending{pending(1, high)}
				placed, err := c.Place(t.Context(), queue, engine.PlaceOptions{Profile: p, Preempt: true, Scheduler: scheduler})
				if err != nil {
					t.Fatal(err)
				}
				result := placed.Placements[0]
				if len(placed.Evictions) > 0 || result.Unplaced != 1 ||
					result.Message != filter || result.Preemption != nil && result.Preemption.Nominated != nil {
					t.Errorf("Place, kube-scheduler's queue %v: %+v", scheduler, placed)
				}
			}
		})
	}
}

// TestGroupsWithoutPreemption is the same for pod groups.
func TestGroupsWithoutPreemption(t *testing.T) {
	low := enginetest.MakePod("low").Request("cpu", 8000)
	high := enginetest.MakePod("high").Request("cpu", 8000).Priority(10)
	p := api.Kube137()
	p.DisabledGroupPostFilters.DefaultPreemption = true
	for _, scheduler := range []bool{false, true} {
		c := compile(t, enginetest.MakeNode("a").Run(low))
		placed, err := c.Place(t.Context(), []engine.Pending{pending(1, high)}, engine.PlaceOptions{
			Profile: p, Preempt: true, Scheduler: scheduler, Groups: []engine.PodGroup{{Name: "g", Entries: []int{0}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		g := placed.Groups[0]
		if len(placed.Evictions) > 0 || g.Preemption != nil ||
			!strings.HasSuffix(g.Message, ", deallocation and deletion of ResourceClaims completed") {
			t.Errorf("kube-scheduler's queue %v: %+v", scheduler, g)
		}
	}
}
