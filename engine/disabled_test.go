package engine_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestDisabledFilterIsReadByOthers places pods by scanning and with the board where NodeAffinity and TaintToleration do not
// filter. PodTopologySpread reads what they read all the same: which nodes count depends on it.
func TestDisabledFilterIsReadByOthers(t *testing.T) {
	profile := api.Kube137()
	profile.DisabledFilters.Add(uint8(verdict.NodeAffinity))
	profile.DisabledFilters.Add(uint8(verdict.TaintToleration))
	for seed := range uint64(300) {
		stated, pods := enginetest.Random(rand.New(rand.NewPCG(seed, 17)))
		var queue []engine.Pending
		for _, p := range pods {
			queue = append(queue, engine.Pending{Pod: p, Count: 3})
		}
		c := compiled(t, stated)
		want, err := c.PlaceByScanning(t.Context(), queue, engine.PlaceOptions{Profile: profile})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Place(t.Context(), queue, engine.PlaceOptions{Profile: profile}.WithBoard())
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !slices.Equal(got.Placements[i].Nodes, want[i].Nodes) {
				t.Fatalf("seed %d, entry %d: on %v, by scanning on %v", seed, i, got.Placements[i].Nodes, want[i].Nodes)
			}
		}
	}
}
