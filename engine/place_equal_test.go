package engine_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
)

var placements = flag.Int("placements", 100_000, "how many random placements TestPlaceEqualsScanning compares at least")

// TestPlaceEqualsScanning compares random queues with placing by scanning: the same nodes, and the same messages for
// unplaced pods.
func TestPlaceEqualsScanning(t *testing.T) {
	t.Parallel()
	placed, unplaced := 0, 0
	for seed := uint64(0); placed < cases(*placements); seed++ {
		p, u := comparePlacements(t, seed)
		if t.Failed() {
			return
		}
		placed, unplaced = placed+p, unplaced+u
	}
	if unplaced < placed/10 {
		t.Errorf("%d placed, %d unplaced: the cases no longer exercise both", placed, unplaced)
	}
}

// FuzzPlace is TestPlaceEqualsScanning with new seeds.
func FuzzPlace(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { comparePlacements(t, seed) })
}

// comparePlacements compares the placements of one random queue, and returns the numbers of placed and unplaced pods.
func comparePlacements(t *testing.T, seed uint64) (placed, unplaced int) {
	t.Helper()
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(seed, 4))
	stated, profile, pods := randomQueue(rng)
	if seed%5 == 4 {
		enlarge(rng, stated, pods)
	}
	c, err := engine.Compile(ctx, stated)
	if err != nil {
		t.Fatal(err)
	}
	var queue []engine.Pending
	for _, p := range pods {
		queue = append(queue, engine.Pending{Pod: p, Count: 1 + rng.IntN(2)*rng.IntN(4)})
	}
	o := engine.PlaceOptions{Profile: profile, Seed: seed % 3, FewestPods: seed%2 == 1}
	if rng.IntN(4) == 0 {
		o.Candidates = []uint32{}
		for i := range stated.Nodes {
			if rng.IntN(4) > 0 {
				o.Candidates = append(o.Candidates, uint32(i))
			}
		}
	}
	want, err := c.PlaceByScanning(ctx, queue, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i].Scanned = 0
		placed += len(want[i].Nodes)
		unplaced += want[i].Unplaced
	}
	for how, o := range map[string]engine.PlaceOptions{
		"as it pays":             o,
		"keys by value":          o.WithBoard().WithLowCardinality(0),
		"some keys by value":     o.WithBoard().WithLowCardinality(5),
		"keys by their domain":   o.WithBoard().WithLowCardinality(1000),
		"as it pays, forgetting": o.ForgettingClasses(),
	} {
		p, err := c.Place(ctx, queue, o)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Placements
		for i := range want {
			got[i].Scanned = 0
			if !reflect.DeepEqual(want[i], got[i]) {
				t.Errorf("seed %d, %s, entry %d (-want +got):\n%s", seed, how, i, cmp.Diff(want[i], got[i]))
				return placed, unplaced
			}
		}
	}
	return placed, unplaced
}
