package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestServedResourcesAreScored expects that devices which serve an extended resource count as the resource of their node: in scores, and as soon
// as pods of the queue have taken some.
func TestServedResourcesAreScored(t *testing.T) {
	stated := gpuCluster(2, 8)
	for i := range 6 {
		stated.Devices.Claims = append(stated.Devices.Claims, api.ResourceClaim{
			Namespace: "default", Name: fmt.Sprint("claim-", i),
			Allocation: &api.ClaimAllocation{Devices: []api.DeviceAllocation{{Driver: "gpu.example", Pool: "n0", Device: fmt.Sprint("gpu-", i)}}},
		})
	}
	stated.Devices.Sort()
	profile := api.Kube137()
	profile.Scoring = api.ScoringStrategy{Type: api.MostAllocated, Resources: []api.ResourceWeight{
		{Resource: "example.com/gpu", Weight: 5}, {Resource: "cpu", Weight: 1},
	}}
	profile.BalancedResources = []string{"cpu", "example.com/gpu"}
	pod := enginetest.MakePod("p").Request("cpu", 16000, "example.com/gpu", 1)
	c := compiled(t, stated)
	score, err := c.Score(t.Context(), &pod.Pod, engine.ScoreOptions{Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	want := map[verdict.Plugin][]int64{
		verdict.NodeResourcesFit: {(87*5 + 25) / 6, (12*5 + 25) / 6},
		// Without the pod 0 of cpu and 6/8 or none of the devices are taken, with it a quarter and 7/8 or an eighth.
		verdict.BalancedAllocation: {50 + (50+68-62)/2, 50 + (50+93-100)/2},
	}
	for _, p := range score.Plugins {
		if w := want[p.Plugin]; w != nil && !slices.Equal(p.Scores, w) {
			t.Errorf("%v: %v, want %v", p.Plugin, p.Scores, w)
		}
		delete(want, p.Plugin)
	}
	if len(want) > 0 {
		t.Errorf("no scores of %v", want)
	}
	placed, err := c.Place(t.Context(), []engine.Pending{pending(3, pod)}, engine.PlaceOptions{Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	if got := placed.Placements[0].Nodes; !slices.Equal(got, []uint32{0, 0, 1}) {
		t.Errorf("placed on %v", got)
	}
}
