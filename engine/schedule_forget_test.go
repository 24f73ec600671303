package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// randomAlike returns a cluster full of pods, and a queue of many pods of few templates that preempt them. What most of the pods
// find on a node depends on the node alone; some pods that come and go change that for a while.
func randomAlike(rng *rand.Rand) (*api.Cluster, []engine.Pending) {
	apps := []string{"web", "db", "cache"}
	label := func(p *enginetest.Pod) *enginetest.Pod { return p.Label("app", pick(rng, apps...)) }
	ports := func(p *enginetest.Pod) *enginetest.Pod {
		if rng.IntN(5) == 0 {
			p.HostPort(80 + rng.Int32N(2))
		}
		return p
	}
	stated := enginetest.Cluster()
	for i := range 2 + rng.IntN(11) {
		room := 1000 * (1 + rng.IntN(4))
		n := enginetest.MakeNode(fmt.Sprint("n", i)).Allocate("cpu", room, "pods", 3+rng.IntN(20)).Zone(pick(rng, "a", "b", "c"))
		for j := 0; room > 0 && j < 8; j++ {
			uses := 100 * (1 + rng.IntN(8))
			p := ports(label(cpu(fmt.Sprint("victim-", i, "-", j), 0, rng.Int32N(5)-1).Request("cpu", uses)))
			p.StartTime, p.Terminating = int64(rng.IntN(4))*1e9, rng.IntN(12) == 0
			n.Run(p)
			room -= uses
		}
		if rng.IntN(8) == 0 {
			n.Nominate(ports(label(cpu(fmt.Sprint("nominated-", i), 1, rng.Int32N(5)))))
		}
		if rng.IntN(12) == 0 {
			n.Cordon()
		}
		stated.Nodes = append(stated.Nodes, n.Node)
	}
	for i := range rng.IntN(3) {
		stated.Budgets = append(stated.Budgets, api.PodDisruptionBudget{
			Namespace: "default", Name: fmt.Sprint("budget-", i), Selector: enginetest.Selects("app", pick(rng, apps...)),
			DisruptionsAllowed: rng.Int32N(3),
		})
	}
	var queue []engine.Pending
	across := rng.IntN(2) == 0
	for i := range 1 + rng.IntN(4) {
		p := ports(label(cpu(fmt.Sprint("pod-", i), 0, rng.Int32N(5)).Request("cpu", 300*(1+rng.IntN(6)))))
		p.Template.Spec.NeverPreempts = rng.IntN(16) == 0
		if across && rng.IntN(2) == 0 {
			key, selects := pick(rng, hostname, "topology.kubernetes.io/zone"), enginetest.Selects("app", pick(rng, apps...))
			switch rng.IntN(3) {
			case 0:
				p.AntiAffinity(key, selects)
			case 1:
				p.Affinity(key, selects)
			default:
				p.Spread(key, 1+rng.Int32N(2), selects)
			}
		}
		for range 1 + rng.IntN(2) {
			queue = append(queue, engine.Pending{Pod: p.Pod, Count: 1 + rng.IntN(8)})
		}
	}
	rng.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] })
	return stated, queue
}

// TestScheduleEqualsForgetting compares the queue with one that repeats the search for victims for each pod, to the last text.
func TestScheduleEqualsForgetting(t *testing.T) {
	t.Parallel()
	evictions, unplaced := 0, 0
	for seed := range uint64(cases(6000)) {
		rng := rand.New(rand.NewPCG(seed, 91))
		stated, queue := randomAlike(rng)
		if seed%4 == 0 {
			stated, queue = randomSchedule(rng)
		}
		c := compiled(t, stated)
		o := engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true, Preempt: true, Seed: seed % 3}
		got, err := c.Place(t.Context(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Place(t.Context(), queue, o.Forgetting())
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-forgetting +remembering):\n%s", seed, diff)
		}
		evictions += len(want.Evictions)
		for i := range want.Placements {
			unplaced += want.Placements[i].Unplaced
		}
	}
	t.Logf("%d evictions, %d pods unplaced", evictions, unplaced)
	if min(evictions, unplaced) == 0 {
		t.Error("some outcome never occurs")
	}
}
