package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// fullOf returns a cluster of nodes with 2 CPUs and two pods of 1 CPU each, "name-0" and "name-1", whose priorities are given.
func fullOf(priorities map[string][2]int32) *api.Cluster {
	var nodes []*enginetest.Node
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range priorities {
			if !yield(n) {
				return
			}
		}
	}) {
		n := enginetest.MakeNode(name).Allocate("cpu", int64(2000), "pods", int64(10))
		for i, priority := range priorities[name] {
			n.Run(enginetest.MakePod(fmt.Sprint(name, "-", i)).Request("cpu", 1000).Priority(priority))
		}
		nodes = append(nodes, n)
	}
	return enginetest.Cluster(nodes...)
}

func gangOf(pods int, priority int32) ([]engine.Pending, engine.PodGroup) {
	p := enginetest.MakePod("gang").Request("cpu", 1000).Priority(priority)
	return []engine.Pending{{Pod: p.Pod, Count: pods}}, engine.PodGroup{Name: "gang", Entries: []int{0}, Priority: &priority}
}

// TestPreemptGroup has what kube-scheduler's pod group cycle ends with.
func TestPreemptGroup(t *testing.T) {
	for _, c := range []struct {
		name    string
		cluster map[string][2]int32
		pods    int
		policy  bool     // Never
		running []string // pods of a group that runs
		all     bool     // which can be evicted only as a whole
		victims string
		message string
	}{
		{name: "the least important", cluster: map[string][2]int32{"a": {5, 1}, "b": {2, 3}}, pods: 2, victims: "b-0 a-1",
			message: "pod group preemption: found a placement for podgroup, preempting 2 victims"},
		{name: "pods of a higher priority stay", cluster: map[string][2]int32{"a": {50, 1}, "b": {50, 50}}, pods: 2,
			message: "deallocation and deletion of ResourceClaims completed, pod group preemption: pod group is unschedulable, " +
				"0/1 placements are available, first placement status: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"},
		{name: "no victims", cluster: map[string][2]int32{"a": {50, 50}}, pods: 1,
			message: "pod group preemption: No preemption victims found for incoming preemptor"},
		{name: "Never", cluster: map[string][2]int32{"a": {1, 1}}, pods: 1, policy: true,
			message: "deallocation and deletion of ResourceClaims completed, pod group preemption: " +
				"not eligible due to preemptionPolicy=Never."},
		{name: "a group as a whole", cluster: map[string][2]int32{"a": {1, 5}, "b": {1, 5}}, pods: 1,
			running: []string{"a-0", "b-0"}, all: true, victims: "a-0 b-0",
			message: "pod group preemption: found a placement for podgroup, preempting 2 victims"},
		{name: "a pod of a group", cluster: map[string][2]int32{"a": {1, 5}, "b": {1, 5}}, pods: 1,
			running: []string{"a-0", "b-0"}, victims: "a-0",
			message: "pod group preemption: found a placement for podgroup, preempting 1 victims"},
		{name: "a group is more important than a pod", cluster: map[string][2]int32{"a": {1, 1}, "b": {50, 50}}, pods: 1,
			running: []string{"a-1"}, victims: "a-0",
			message: "pod group preemption: found a placement for podgroup, preempting 1 victims"},
	} {
		t.Run(c.name, func(t *testing.T) {
			queue, gang := gangOf(c.pods, 10)
			queue[0].Pod.Template.Spec.NeverPreempts = c.policy
			for _, preempt := range []bool{false, true} {
				stated := fullOf(c.cluster)
				for i := range stated.Nodes {
					for j := range stated.Nodes[i].Pods {
						if p := &stated.Nodes[i].Pods[j]; slices.Contains(c.running, p.Name) {
							p.Template.Spec.SchedulingGroup = "running"
						}
					}
				}
				stated.PodGroups = []api.PodGroup{{Name: "default/running", Priority: new(int32(1)), DisruptAll: c.all}}
				compiled, err := engine.Compile(context.Background(), stated)
				if err != nil {
					t.Fatal(err)
				}
				got, err := compiled.Place(context.Background(), queue, engine.PlaceOptions{
					Profile: api.Kube137(), Preempt: preempt, Groups: []engine.PodGroup{gang},
				})
				if err != nil {
					t.Fatal(err)
				}
				g := got.Groups[0]
				if !preempt {
					if g.Preemption != nil || strings.Contains(g.Message, "preemption") {
						t.Errorf("not asked for preemption, got %q", g.Message)
					}
					continue
				}
				var victims []string
				for _, v := range g.Preemption.Victims {
					victims = append(victims, v.Name)
				}
				if text := strings.Join(victims, " "); text != c.victims {
					t.Errorf("victims %q, want %q", text, c.victims)
				}
				if _, text, _ := strings.Cut(g.Message, "remaining, "); text != c.message {
					t.Errorf("message %q, want %q", text, c.message)
				}
				if n := len(g.Preemption.Nominations); (n > 0) != (c.victims != "") {
					t.Errorf("%d nominations", n)
				}
			}
		})
	}
}

// TestPreemptGroupChangesNothing places random queues with groups with and without preemption, which must place the same pods.
func TestPreemptGroupChangesNothing(t *testing.T) {
	t.Parallel()
	found, tried := 0, cases(2000)
	for seed := range uint64(tried) {
		c := randomGroups(rand.New(rand.NewPCG(seed, 77)), false)
		rng := rand.New(rand.NewPCG(seed, 78))
		for i := range c.queue {
			c.queue[i].Pod.Template.Spec.Priority = 10
		}
		for i := range c.stated.Nodes {
			for j := range rng.IntN(3) {
				p := enginetest.MakePod(fmt.Sprint("runs-", i, "-", j)).Request("cpu", 1000).Priority(int32(rng.IntN(3)))
				c.stated.Nodes[i].Pods = append(c.stated.Nodes[i].Pods, p.Pod)
			}
		}
		for i := range c.groups {
			c.groups[i].Priority = nil
			c.groups[i].DisruptAll = rng.IntN(2) == 0
		}
		compiled, err := engine.Compile(context.Background(), c.stated)
		if err != nil {
			t.Fatal(err)
		}
		var answers [2]*verdict.Place
		for i := range answers {
			answers[i], err = compiled.Place(context.Background(), c.queue, engine.PlaceOptions{
				Profile: c.profile, Seed: c.seed, Groups: c.groups, Preempt: i == 1,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range answers[0].Placements {
			if a, b := answers[0].Placements[i].Nodes, answers[1].Placements[i].Nodes; !slices.Equal(a, b) {
				t.Fatalf("seed %d, entry %d: %v with preemption, %v without", seed, i, b, a)
			}
		}
		for _, g := range answers[1].Groups {
			if g.Preemption != nil && len(g.Preemption.Nominations) > 0 {
				found++
			}
		}
	}
	if found < tried/50 {
		t.Errorf("%d groups preempt: the cases no longer exercise it", found)
	}
}
