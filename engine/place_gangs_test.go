package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// randomGangs returns racks and a queue of many groups of few shapes, with pods that are in no group between them.
func randomGangs(rng *rand.Rand) (*api.Cluster, []engine.Pending, []engine.PodGroup) {
	nodes := racked(1+rng.IntN(2), 1+rng.IntN(4), 1+rng.IntN(4))
	for _, n := range nodes {
		n.Allocate("cpu", int64(1000+1000*rng.IntN(8)), "memory", int64(32<<30), "pods", int64(3+rng.IntN(10)))
		for range rng.IntN(3) {
			n.Run(enginetest.MakePod("runs").Priority(-1).Request("cpu", int64(500), "memory", int64(1<<30)))
		}
	}
	var templates []*api.PodTemplate
	for i := range 2 + rng.IntN(3) {
		p := enginetest.MakePod(fmt.Sprint("job-", i)).Label("app", fmt.Sprint("job-", i)).Request("cpu", int64(100+200*rng.IntN(6)), "memory", int64(1<<30))
		if rng.IntN(6) == 0 {
			p.Request("cpu", int64(-100)) // kube-scheduler fails on the scores of such pods
		}
		if rng.IntN(4) == 0 {
			p.AntiAffinity(hostname, enginetest.Selects("app", fmt.Sprint("job-", rng.IntN(i+1))))
		}
		templates = append(templates, p.Template)
	}
	var queue []engine.Pending
	add := func() int {
		queue = append(queue, engine.Pending{Pod: api.Pod{Template: templates[rng.IntN(len(templates))]}, Count: 1 + rng.IntN(3)})
		return len(queue) - 1
	}
	var groups []engine.PodGroup
	for i := range 4 + rng.IntN(12) {
		if rng.IntN(3) == 0 {
			add()
		}
		g := engine.PodGroup{Name: fmt.Sprint("gang-", i), Keys: []string{[]string{rack, "zone"}[rng.IntN(5)/4]}, Minimum: rng.IntN(3), Priority: new(int32)}
		for range 1 + rng.IntN(2) {
			g.Entries = append(g.Entries, add())
		}
		groups = append(groups, g)
	}
	return enginetest.Cluster(nodes...), queue, groups
}

// TestGangsEqualScanning compares many groups of few shapes with a queue that evaluates every node for every pod, and with one that ranks the
// domains again for each group. Some queues are kube-scheduler's.
func TestGangsEqualScanning(t *testing.T) {
	t.Parallel()
	statuses, evictions := make(map[verdict.GroupStatus]int), 0
	for seed := range uint64(cases(1500)) {
		stated, queue, groups := randomGangs(rand.New(rand.NewPCG(seed, 92)))
		c := compiled(t, stated)
		o := engine.PlaceOptions{Profile: api.Kube137(), Seed: seed % 3, Groups: groups, Scheduler: seed%2 == 0, Preempt: seed%4 == 0}
		place := func(o engine.PlaceOptions) *verdict.Place {
			got, err := c.Place(t.Context(), queue, o)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		equal := func(how string, want, got *verdict.Place) {
			if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(verdict.Placement{}, "Scanned")); diff != "" {
				t.Fatalf("seed %d (-%s +now):\n%s", seed, how, diff)
			}
		}
		got, scanning := place(o), o
		scanning.Scan = true
		equal("again for each group", place(o.Forgetting()), got)
		equal("with the board", place(o.WithBoard()), got)
		want := place(scanning)
		withoutDomain(want, groups)
		withoutDomain(got, groups)
		equal("scanning", want, got)
		for i := range want.Groups {
			statuses[want.Groups[i].Status]++
		}
		evictions += len(want.Evictions)
	}
	if least := cases(1500) / 4; min(statuses[verdict.GroupComplete], statuses[verdict.GroupBestEffort], statuses[verdict.GroupInfeasible]) < least || evictions < least/2 {
		t.Errorf("%v, %d evictions: the cases no longer exercise all", statuses, evictions)
	}
}

// TestGangAfterInvalidScores places a gang, and once more after a pod with which kube-scheduler fails on the scores of a node.
func TestGangAfterInvalidScores(t *testing.T) {
	nodes := racked(1, 2, 2)
	nodes[0].Label("odd", "yes")
	odd := enginetest.MakePod("odd").Request("cpu", int64(-3000))
	odd.Template.Spec.NodeSelector = []api.Label{{Key: "odd", Value: "yes"}}
	queue := []engine.Pending{{Pod: job(100).Pod, Count: 2}, {Pod: odd.Pod, Count: 1}, {Pod: job(100).Pod, Count: 2}}
	queue[2].Pod.Template = queue[0].Pod.Template
	groups := []engine.PodGroup{{Name: "before", Keys: []string{rack}, Entries: []int{0}}, {Name: "after", Keys: []string{rack}, Entries: []int{2}}}
	got, err := compile(t, nodes...).Place(t.Context(), queue, engine.PlaceOptions{Profile: api.Kube137(), Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	if before, after := &got.Groups[0], &got.Groups[1]; before.Status != verdict.GroupComplete || !after.Failed || len(got.Placements[1].Nodes) != 1 {
		t.Errorf("before %+v, odd %+v, after %+v", before, got.Placements[1], after)
	}
}
