package place

import (
	"math/rand/v2"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestBoardFollows: while pods come and leave, nodes are cordoned and all of that is undone in any order, a board finds the node that
// scanning all nodes finds.
func TestBoardFollows(t *testing.T) {
	seeds := uint64(2000)
	if testing.Short() {
		seeds = 200
	}
	compared, found, followed := 0, 0, 0
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 41))
		q := randomQueue(t, rng)
		marks := []cluster.Mark{q.State.Mark()}
		for range 30 {
			switch node := rng.Uint32N(uint32(q.State.Len())); rng.IntN(8) {
			case 0:
				q.State.Cordon([]uint32{node})
			case 1, 2:
				if on := q.State.AllVictims(nil, node); len(on) > 0 {
					q.State.EvictVictim(node, &on[rng.IntN(len(on))])
				}
			case 3:
				marks = append(marks, q.State.Mark())
			case 4:
				at := rng.IntN(len(marks))
				q.Undo(marks[at])
				marks = marks[:at+1]
			}
			entry := rng.IntN(len(q.Pending))
			c := q.Classes[entry]
			c.Decision = nil
			before := c.onBoard
			got, ok, err := q.best(t.Context(), c, &verdict.Placement{})
			if err != nil {
				t.Fatal(err)
			}
			want, feasible, err := q.scan(t.Context(), &Class{Pod: c.Pod, Scan: true})
			if err != nil {
				t.Fatal(err)
			}
			if ok != feasible || ok && got != want {
				t.Fatalf("seed %d, entry %d: the board finds %d, %v, scanning %d, %v", seed, entry, got, ok, want, feasible)
			}
			compared++
			if before != nil && c.onBoard == before {
				followed++
			}
			if ok {
				found++
				q.Assume(entry, got)
			}
		}
	}
	if found < compared/10 || found == compared || followed < compared/5 {
		t.Errorf("%d of %d pods had a node, %d classes followed the state", found, compared, followed)
	}
}

// randomQueue returns a queue that is placed on a board wherever a board can place it.
func randomQueue(t *testing.T, rng *rand.Rand) *Queue {
	stated, pods := enginetest.RandomShared(rng)
	if rng.IntN(2) == 0 {
		enginetest.RandomFields(rng, stated, pods)
	}
	c, err := cluster.Compile(t.Context(), stated)
	if err != nil {
		t.Fatal(err)
	}
	var pending []Pending
	for _, p := range pods {
		pending = append(pending, Pending{Pod: p, Count: 2})
	}
	o := Options{Seed: rng.Uint64N(2), FewestPods: rng.IntN(3) == 0, Tuning: Tuning{Board: true}}
	if rng.IntN(2) == 0 {
		cells := rng.IntN(2) == 0
		o.Tuning.LowCardinality = func(int, int) bool { return cells }
	}
	q, err := New(t.Context(), decide.NewFramework(api.Kube137(), registry.Plugins), cluster.NewState(t.Context(), c),
		nodeset.Full(c.Len()), pending, o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
