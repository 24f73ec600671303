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

// TestPlaceJointlyWithNominated compares joint placements in clusters with nominated pods with all placements. A group may be
// left undecided, but then no pod that is placed may be on a node that rejects it.
func TestPlaceJointlyWithNominated(t *testing.T) {
	n := cases(3000)
	outcomes := make(map[verdict.JointStatus]int)
	missed := 0
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 41))
		stated, group, candidates := enginetest.RandomGroup(rng)
		var pods []api.Pod
		for _, m := range group {
			pods = append(pods, m.Pod)
		}
		enginetest.RandomNominated(rng, stated, pods)
		var queue []engine.Pending
		for i, m := range group {
			queue = append(queue, engine.Pending{Pod: pods[i], Count: m.Count})
		}
		o := engine.JointOptions{Profile: api.Kube137(), Candidates: candidates}
		got, err := compiled(t, stated).PlaceJointly(t.Context(), queue, o)
		if err != nil {
			t.Fatal(err)
		}
		outcomes[got.Status]++
		if candidates == nil {
			for i := range stated.Nodes {
				candidates = append(candidates, uint32(i))
			}
		}
		switch got.Status {
		case verdict.JointComplete:
			all, _ := flat(queue)
			scores, right := totals(t, stated, all, slices.Concat(got.Nodes...), candidates)
			if !right || !slices.Equal(scores, slices.Concat(got.Scores...)) {
				t.Fatalf("seed %d: %v is not right, or its scores %v", seed, got.Nodes, got.Scores)
			}
		case verdict.JointInfeasible:
			if at := bruteForce(t, stated, queue, candidates); at != nil {
				t.Fatalf("seed %d: said to be infeasible, but %v is right", seed, at)
			}
		case verdict.JointBestEffort:
			if bruteForce(t, stated, queue, candidates) != nil {
				missed++
			}
			var placed []api.Pod
			for i, nodes := range got.Nodes {
				for range nodes {
					placed = append(placed, queue[i].Pod)
				}
			}
			nodes := slices.Concat(got.Nodes...)
			for i, node := range nodes {
				pod := placed[i]
				pod.NominatedNode = ""
				s := score(t, others(t, stated, placed, nodes, i), &pod, candidates)
				if !slices.Contains(s.Nodes, node) {
					t.Fatalf("seed %d: of %v, pod %d is rejected", seed, got.Nodes, i)
				}
			}
		}
	}
	t.Log(outcomes, missed)
	if len(outcomes) != 3 || missed > n/50 {
		t.Errorf("outcomes %v, %d undecided groups could be placed", outcomes, missed)
	}
}

// TestSearchAvoidsNominated places pods that need each other, so that only a search places them. Their first choice is a node
// whose nominated pod leaves them too little room.
func TestSearchAvoidsNominated(t *testing.T) {
	needs := func(name, other string) *enginetest.Pod {
		return app(name).Request("cpu", 2000).Affinity(hostname, enginetest.Selects("app", other))
	}
	group := []engine.Pending{pending(1, needs("web", "db")), pending(1, needs("db", "web"))}
	for name, test := range map[string]struct {
		nominated *enginetest.Pod
		want      []uint32
	}{
		"in the way":     {enginetest.MakePod("n").Request("cpu", 5000), []uint32{1, 1}},
		"lower priority": {enginetest.MakePod("n").Request("cpu", 5000).Priority(-1), []uint32{0, 0}},
		"in the group":   {enginetest.MakePod("db").Request("cpu", 5000), []uint32{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			c := compile(t, enginetest.MakeNode("n0").Nominate(test.nominated), enginetest.MakeNode("n1").Allocate("cpu", 4500, "pods", 5))
			got, err := c.PlaceJointly(t.Context(), group, engine.JointOptions{Profile: &api.Profile{}})
			if err != nil || !slices.Equal(slices.Concat(got.Nodes...), test.want) {
				t.Errorf("error %v, got %+v", err, got)
			}
		})
	}
}

// TestPlaceNominatedJointly places a group of equal pods on the only node, which they are nominated to and which they fill.
func TestPlaceNominatedJointly(t *testing.T) {
	pod := func(name string) *enginetest.Pod { return enginetest.MakePod(name).Request("cpu", 4000) }
	c := compile(t, enginetest.MakeNode("n0").Nominate(pod("a"), pod("b")))
	for _, test := range []struct {
		group []engine.Pending
		want  verdict.JointStatus
	}{
		{[]engine.Pending{pending(1, pod("a")), pending(1, pod("b"))}, verdict.JointComplete},
		{[]engine.Pending{pending(1, pod("a")), pending(1, pod("c"))}, verdict.JointBestEffort},
	} {
		got, err := c.PlaceJointly(t.Context(), test.group, engine.JointOptions{Profile: api.Kube137()})
		if err != nil || got.Status != test.want {
			t.Errorf("error %v, got %+v", err, got)
		}
	}
}
