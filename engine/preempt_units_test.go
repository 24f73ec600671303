package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestPodEvictsWholeGroups: a pod without a group evicts a group that leaves only as a whole on all of its nodes, or not at all.
func TestPodEvictsWholeGroups(t *testing.T) {
	for _, c := range []struct {
		name                  string
		cluster               map[string][2]int32
		members               string
		priority              *int32 // of the group
		budget                bool   // allows no pod of the group to leave
		declares              string // the only node with a feature that the pod requires
		candidates, nominated string
		message               string
	}{
		{name: "each node has the whole group", cluster: map[string][2]int32{"a": {1, 50}, "b": {1, 50}}, members: "a-0 b-0", priority: new(int32(1)),
			candidates: "a: a-0 b-0; b: a-0 b-0", nominated: "a"},
		{name: "a pod counts less than a group", cluster: map[string][2]int32{"a": {1, 50}, "b": {1, 50}, "c": {1, 50}}, members: "a-0 b-0",
			priority: new(int32(1)), candidates: "a: a-0 b-0; b: a-0 b-0; c: c-0", nominated: "c"},
		{name: "a pod of the node stays instead of the group", cluster: map[string][2]int32{"a": {1, 1}, "b": {1, 50}}, members: "a-1 b-0",
			priority: new(int32(1)), candidates: "a: a-0; b: a-1 b-0", nominated: "a"},
		{name: "the priority of the group counts", cluster: map[string][2]int32{"a": {1, 50}, "b": {1, 50}}, members: "a-0 b-0", priority: new(int32(10)),
			message: "No preemption victims found for incoming pod"},
		{name: "one of higher priority holds all", cluster: map[string][2]int32{"a": {1, 50}, "b": {20, 50}}, members: "a-0 b-0",
			message: "No preemption victims found for incoming pod"},
		{name: "each pod that violates a budget counts", cluster: map[string][2]int32{"a": {1, 50}, "b": {1, 50}, "c": {9, 50}}, members: "a-0 b-0",
			priority: new(int32(1)), budget: true, candidates: "a: a-0 b-0 !2; b: a-0 b-0 !2; c: c-0", nominated: "c"},
		{name: "a node without a feature stays infeasible", cluster: map[string][2]int32{"a": {1, 50}, "b": {1, 50}}, members: "a-0 b-0",
			priority: new(int32(1)), declares: "b", candidates: "b: a-0 b-0", nominated: "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stated := fullOf(c.cluster)
			for i := range stated.Nodes {
				if stated.Nodes[i].Name == c.declares {
					stated.Nodes[i].DeclaredFeatures = []string{"Feature"}
				}
				for j := range stated.Nodes[i].Pods {
					if p := &stated.Nodes[i].Pods[j]; strings.Contains(c.members, p.Name) {
						p.Template.Spec.SchedulingGroup = "running"
						p.Template.Labels = []api.Label{{Key: "app", Value: "running"}}
					}
				}
			}
			stated.PodGroups = []api.PodGroup{{Name: "default/running", Priority: c.priority, DisruptAll: true}}
			if c.budget {
				stated.Budgets = []api.PodDisruptionBudget{{Namespace: "default", Name: "budget", Selector: enginetest.Selects("app", "running")}}
			}
			compiled, err := engine.Compile(context.Background(), stated)
			if err != nil {
				t.Fatal(err)
			}
			pod := enginetest.MakePod("pod").Request("cpu", 1000).Priority(10)
			if c.declares != "" {
				pod.Template.Spec.RequiredNodeFeatures = []string{"Feature"}
			}
			got, err := compiled.Filter(context.Background(), &pod.Pod, engine.FilterOptions{
				Profile: api.Kube137(), Preempt: &engine.PreemptOptions{All: true, AcrossSteps: 1000},
			})
			if err != nil {
				t.Fatal(err)
			}
			p := got.Preemption
			var all []string
			for i := range p.Candidates {
				all = append(all, candidateText(stated, &p.Candidates[i]))
			}
			if text := strings.Join(all, "; "); text != c.candidates {
				t.Errorf("candidates %q, want %q", text, c.candidates)
			}
			if c.nominated != "" && stated.Nodes[p.Nominated.Node].Name != c.nominated {
				t.Errorf("nominated to node %d, want %s", p.Nominated.Node, c.nominated)
			}
			if !strings.Contains(got.Message, c.message) {
				t.Errorf("message %q, want %q", got.Message, c.message)
			}
			if p.Across != nil && c.priority != nil && *c.priority < 10 && p.Across.Proven {
				t.Error("victims on any nodes are proven to be the least, though groups that leave as a whole were left out")
			}
			scan, err := compiled.Place(context.Background(), []engine.Pending{{Pod: pod.Pod, Count: 1}}, engine.PlaceOptions{
				Profile: api.Kube137(), Scheduler: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			if placed := len(scan.Placements[0].Nodes) == 1; placed != (c.nominated != "") {
				t.Errorf("placed by kube-scheduler's queue: %t", placed)
			}
			if c.nominated == "" {
				return
			}
			e := scan.Evictions[0]
			if want := candidateText(stated, p.Nominated); candidateText(stated, &e.Candidate) != want {
				t.Errorf("the queue evicts %q, want %q", candidateText(stated, &e.Candidate), want)
			}
		})
	}
}

// candidateText is the node, the victims and the number of violations of a candidate.
func candidateText(c *api.Cluster, of *verdict.Candidate) string {
	text := c.Nodes[of.Node].Name + ":"
	for _, v := range of.Victims {
		text += " " + v.Name
	}
	if of.Violations > 0 {
		text += " !" + string(rune('0'+of.Violations))
	}
	return text
}
