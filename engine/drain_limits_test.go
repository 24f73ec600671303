package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// replicated is a template of a ReplicaSet whose pods request CPU.
func replicated(millis int64) *api.PodTemplate {
	return &api.PodTemplate{
		Namespace: "default", Controller: api.ControllerReference{Kind: api.ReplicaSet, Name: "owner"},
		Spec: api.PodSpec{Containers: []api.Container{{Requests: api.Resources{{Resource: api.ResourceCPU, Amount: millis}}}}},
	}
}

// nodesWithPods are nodes with CPU, and on each one pod of the template with its index.
func nodesWithPods(nodes int, millis int64) (out []api.Node) {
	for i := range nodes {
		out = append(out, api.Node{
			Name: fmt.Sprint("node-", i),
			NodeSpec: api.NodeSpec{Allocatable: api.Resources{
				{Resource: api.ResourceCPU, Amount: millis}, {Resource: api.ResourcePods, Amount: 110},
			}},
			PodCounts: []api.PodCount{{Template: i, Count: 1}},
		})
	}
	return out
}

// The order in which the largest set is looked for does not depend on a map's: the template of one fate overflows, which leaves
// the others without a bound.
func TestLargestSetOrder(t *testing.T) {
	const nodes = 8
	huge := replicated(0)
	huge.Spec.Containers[0].Requests = api.Resources{{Resource: api.ResourceMemory, Amount: 1 << 62}}
	huge.Spec.Containers = append(huge.Spec.Containers, huge.Spec.Containers[0])
	stated := &api.Cluster{Nodes: nodesWithPods(nodes, 10_000)}
	for i := range int64(nodes) {
		stated.Templates = append(stated.Templates, replicated(100+100*i))
	}
	stated.Templates = append(stated.Templates, huge)
	stated.Nodes[0].PodCounts = append(stated.Nodes[0].PodCounts, api.PodCount{Template: nodes, Count: 1})
	c := compiled(t, stated)
	o := engine.DrainOptions{Profile: api.Kube137(), Mode: engine.DrainLargestSet, Steps: 64}
	answer := func() (text string) {
		out, sum := drains(t, c, o)
		for _, d := range out {
			text += fmt.Sprint(d.Nodes, " ")
		}
		return text + fmt.Sprint(*sum)
	}
	want := answer()
	for range 20 {
		if got := answer(); got != want {
			t.Fatalf("%s and %s", want, got)
		}
	}
}

// A bound and a proof hold whichever filters keep pods off cordoned nodes. Where none does, pods may come back to their own node.
func TestLargestSetWithoutCordons(t *testing.T) {
	const nodes = 3
	stated := &api.Cluster{Nodes: nodesWithPods(nodes, 1000)}
	for range nodes {
		stated.Templates = append(stated.Templates, replicated(1000))
	}
	c := compiled(t, stated)
	for _, test := range []struct {
		disabled []verdict.Plugin
		most     int
	}{
		{nil, 0},
		{[]verdict.Plugin{verdict.NodeUnschedulable}, 0},
		{[]verdict.Plugin{verdict.TaintToleration}, 0},
		{[]verdict.Plugin{verdict.NodeUnschedulable, verdict.TaintToleration}, nodes},
	} {
		o := engine.DrainOptions{Profile: api.Kube137(), Mode: engine.DrainLargestSet}
		for _, p := range test.disabled {
			o.Profile.DisabledFilters.Add(uint8(p))
		}
		for _, o.Steps = range []int{1, 4, 1 << 10} {
			_, sum := drains(t, c, o)
			if sum.Drained > test.most || sum.UpperBound < test.most || sum.Proven && sum.Drained != test.most {
				t.Errorf("without %v, %d steps: %+v, but %d can be drained", test.disabled, o.Steps, sum, test.most)
			}
			if o.Steps == 1<<10 && !sum.Proven {
				t.Errorf("without %v: %+v", test.disabled, sum)
			}
		}
	}
}

// Budgets of blocked pods count as entries of the lists, and equal pods share them.
func TestBlockedBudgetsAreBounded(t *testing.T) {
	const pods, budgets = 3000, 1000
	template := replicated(1)
	stated := &api.Cluster{Templates: []*api.PodTemplate{template}, Nodes: []api.Node{{Name: "a"}, {Name: "b"}}}
	for i := range budgets {
		stated.Budgets = append(stated.Budgets, api.PodDisruptionBudget{
			Namespace: "default", Name: fmt.Sprint("budget-", i), Selector: &api.LabelSelector{},
		})
	}
	for i := range pods {
		n := &stated.Nodes[i%2]
		n.Pods = append(n.Pods, api.Pod{Name: fmt.Sprint("pod-", i), Template: template, Readiness: api.Ready})
	}
	out, _ := drains(t, compiled(t, stated), engine.DrainOptions{Profile: api.Kube137()})
	entries := 0
	for _, d := range out {
		for i := range d.Blocked {
			if entries += 1 + len(d.Blocked[i].Budgets); len(d.Blocked[i].Budgets) != budgets {
				t.Fatalf("%d budgets", len(d.Blocked[i].Budgets))
			}
		}
	}
	if want := verdict.MaxListedPods / (budgets + 1) * (budgets + 1); entries != want || out[0].Truncated || !out[1].Truncated {
		t.Errorf("%d entries, want %d; truncated: %v, %v", entries, want, out[0].Truncated, out[1].Truncated)
	}
	if d := out[0]; d.Status != verdict.DrainBlocked || &d.Blocked[0].Budgets[0] != &d.Blocked[1].Budgets[0] {
		t.Error("the names are not shared")
	}
}

// Fates together keep a bounded number of budgets, and answers report the omissions.
func TestBudgetsOfManyFates(t *testing.T) {
	const pods, budgets = 300, 10_000
	stated := &api.Cluster{Nodes: []api.Node{{Name: "a"}}}
	for i := range budgets {
		stated.Budgets = append(stated.Budgets, api.PodDisruptionBudget{
			Namespace: "default", Name: fmt.Sprint("budget-", i), Selector: &api.LabelSelector{},
		})
	}
	for i := range pods { // each of a template that is not the cluster's
		template := replicated(1)
		template.Labels = api.Labels{{Key: "pod", Value: fmt.Sprint(i)}}
		pod := api.Pod{Name: fmt.Sprint("pod-", i), Template: template, TemplateIndex: -1}
		stated.Nodes[0].Pods = append(stated.Nodes[0].Pods, pod)
	}
	out, _ := drains(t, compiled(t, stated), engine.DrainOptions{Profile: api.Kube137()})
	d := out[0]
	if !d.Truncated || len(d.Blocked) == pods || d.Status != verdict.DrainBlocked {
		t.Errorf("%d blocked, truncated: %v", len(d.Blocked), d.Truncated)
	}
	for i := range d.Blocked {
		if b := &d.Blocked[i]; b.Reason != verdict.BlockedBySeveralBudgets || len(b.Budgets) < 2 {
			t.Fatalf("%d: %v, %d budgets", i, b.Reason, len(b.Budgets))
		}
	}
}

// Names and messages count by their bytes.
func TestListedTextIsBounded(t *testing.T) {
	const length = 1 << 20
	text := strings.Repeat("a", length)
	d := &verdict.Drain{
		Unplaced:  slices.Repeat([]verdict.UnplacedPod{{Message: text}}, 500),
		Blocked:   slices.Repeat([]verdict.BlockedPod{{Budgets: []string{text}}}, 500),
		Preempted: []verdict.PodReference{{Name: text}, {Name: text[1:]}},
	}
	engine.CutDrain(d)
	if got := len(d.Unplaced) + len(d.Blocked) + len(d.Preempted); got != 1002 || d.Truncated {
		t.Errorf("%d entries, truncated: %v", got, d.Truncated)
	}
	d.Unplaced, d.Blocked = slices.Repeat(d.Unplaced, 2), slices.Repeat(d.Blocked, 2)
	engine.CutDrain(d)
	if len(d.Unplaced) != 1000 || len(d.Blocked) != 24 || len(d.Preempted) != 0 || !d.Truncated {
		t.Errorf("%d, %d and %d entries, truncated: %v", len(d.Unplaced), len(d.Blocked), len(d.Preempted), d.Truncated)
	}
}

// A pod that avoids the one that it replaces finds a node once that one has terminated, and its budget allows one more eviction.
func TestPlacedAfterTermination(t *testing.T) {
	alike := enginetest.Selects("app", "web")
	web := enginetest.MakePod("").Label("app", "web").AntiAffinity(zoneKey, alike)
	web.Template.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: "owner"}
	free := enginetest.MakePod("").Label("app", "web")
	free.Template.Controller = web.Template.Controller
	free.Template.Spec.NodeSelector = api.Labels{{Key: zoneKey, Value: "2"}}
	node := func(name, zone string) *enginetest.Node {
		return enginetest.MakeNode(name).Zone(zone).Allocate("cpu", 1000, "pods", 10)
	}
	stated := enginetest.Cluster(node("a", "1"), node("b", "1"), node("c", "2"), node("d", "2"))
	stated.Templates = []*api.PodTemplate{web.Template, free.Template}
	stated.Nodes[0].PodCounts = []api.PodCount{{Template: 0, Count: 1, Readiness: api.Ready}}
	stated.Nodes[2].PodCounts = []api.PodCount{{Template: 1, Count: 2, Readiness: api.Ready}}
	stated.Budgets = []api.PodDisruptionBudget{{Namespace: "default", Name: "one", Selector: alike, DisruptionsAllowed: 1}}
	c := compiled(t, stated)
	for _, scheduler := range []bool{false, true} {
		o := engine.DrainOptions{
			Profile: api.Kube137(), Mode: engine.DrainTogether, Nodes: []uint32{0, 2}, Terminating: true, Moves: true, Scheduler: scheduler,
		}
		got, _ := drains(t, c, o)
		if diff := gocmp.Diff(newReferenceDrain(t, stated, o).drain(0, 2), got[0]); diff != "" {
			t.Errorf("scheduler %v (-stated +drained):\n%s", scheduler, diff)
		}
		if d := got[0]; d.Status != verdict.Drained || d.Rounds != 3 || d.Placed != 3 {
			t.Errorf("scheduler %v: %+v", scheduler, d)
		}
		o.Mode, o.Steps = engine.DrainLargestSet, 1<<10
		if _, sum := drains(t, c, o); sum.Drained != 2 || !sum.Proven {
			t.Errorf("scheduler %v: %+v", scheduler, sum)
		}
	}
}

// Which of two equal pods was preempted again is known by its entry: the second one, because the first one is reprieved.
func TestTheMoveOfThePreemptedPod(t *testing.T) {
	budgeted := api.Labels{{Key: "app", Value: "web"}}
	low, first, second := replicated(500), replicated(500), replicated(500)
	for template, zone := range map[*api.PodTemplate]string{low: "t", first: "u", second: "t"} {
		if template.Spec.NodeSelector = (api.Labels{{Key: zoneKey, Value: zone}}); template != low {
			template.Labels, template.Spec.Priority = budgeted, 10
		}
	}
	node := func(name string) *enginetest.Node {
		return enginetest.MakeNode(name).Zone(name).Allocate("cpu", 1000, "pods", 10)
	}
	stated := enginetest.Cluster(node("x"), node("t"), node("u"))
	stated.Templates = []*api.PodTemplate{first, second, low}
	stated.Nodes[0].PodCounts = []api.PodCount{{Template: 0, Count: 1}, {Template: 1, Count: 1}}
	stated.Nodes[0].Pods = []api.Pod{{Name: "a", Template: low, TemplateIndex: 2}, {Name: "b", Template: low, TemplateIndex: 2}}
	stated.Budgets = []api.PodDisruptionBudget{{
		Namespace: "default", Name: "one", Selector: enginetest.Selects("app", "web"), DisruptionsAllowed: 1,
	}}
	o := engine.DrainOptions{Profile: api.Kube137(), Nodes: []uint32{0}, Moves: true, Scheduler: true}
	got, _ := drains(t, compiled(t, stated), o)
	var names []string
	for _, m := range got[0].Moves {
		names = append(names, m.Pod.Name)
	}
	if d := got[0]; !slices.Equal(names, []string{"", "a", ""}) || d.Status != verdict.DrainUnplaced || len(d.Preempted) != 1 {
		t.Errorf("moves of %q, %+v", names, d)
	}
}

// endsAfter is a context that ends once it was looked at a number of times.
type endsAfter struct {
	context.Context
	looks int
}

func (c *endsAfter) Err() error {
	if c.looks--; c.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// A drain looks at the context while pods begin to terminate, and while they leave.
func TestTerminatingPodsEnd(t *testing.T) {
	stated := &api.Cluster{Templates: []*api.PodTemplate{replicated(1)}, Nodes: nodesWithPods(1, 1)}
	const pods = 200_000
	stated.Nodes[0].PodCounts[0].Count = pods
	c := compiled(t, stated)
	o := engine.DrainOptions{Profile: api.Kube137(), Mode: engine.DrainTogether, Terminating: true}
	ctx := &endsAfter{t.Context(), 1 << 30}
	if _, err := c.Drain(ctx, o, func(*verdict.Drain) error { return nil }); err != nil {
		t.Fatal(err)
	}
	looks := 1<<30 - ctx.looks
	if looks < 2*pods/1024 {
		t.Fatalf("%d looks at the context", looks)
	}
	for _, after := range []int{looks / 4, looks / 2, looks - 20} {
		_, err := c.Drain(&endsAfter{t.Context(), after}, o, func(*verdict.Drain) error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended after %d of %d: %v", after, looks, err)
		}
	}
}
