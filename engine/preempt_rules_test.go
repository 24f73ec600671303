package engine_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

func budget(name string, selects *api.LabelSelector, allowed int32) api.PodDisruptionBudget {
	return api.PodDisruptionBudget{Namespace: "default", Name: name, Selector: selects, DisruptionsAllowed: allowed}
}

func started(p *enginetest.Pod, at int64) *enginetest.Pod {
	p.StartTime = at
	return p
}

// roomy returns a node for two pods of 1,000 thousandths of a core.
func roomy(name string, pods ...*enginetest.Pod) *enginetest.Node {
	return enginetest.MakeNode(name).Zone("z-"+name).Allocate("cpu", 2000, "pods", 10).Run(pods...)
}

func holding(name string, cpu int, priority int32) *enginetest.Pod {
	return enginetest.MakePod(name).Label("app", name).Request("cpu", cpu).Priority(priority)
}

func holdingPort(name string, priority, number int32) *enginetest.Pod {
	return holding(name, 100, priority).HostPort(number)
}

func preemptedPod(p *enginetest.Pod) *enginetest.Pod {
	p.Terminating, p.Preempted = true, true
	return p
}

func preemptor() *enginetest.Pod {
	return enginetest.MakePod("x").Label("app", "x").Request("cpu", 1000).Priority(10)
}

func neverPreempting() *enginetest.Pod {
	p := preemptor()
	p.Template.Spec.NeverPreempts = true
	return p
}

// conflicting returns a pod that PreFilter rejects.
func conflicting() *enginetest.Pod {
	p := preemptor()
	names := func(name string) api.Requirement {
		return api.Requirement{Key: "metadata.name", Operator: api.In, Values: []string{name}}
	}
	p.Template.Spec.NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{Terms: []api.NodeSelectorTerm{
		{MatchFields: []api.Requirement{names("n1"), names("n2")}},
	}}}
	return p
}

// preemptionCase is a case of a rule of DefaultPreemption that a random cluster rarely shows.
type preemptionCase struct {
	name    string
	nodes   []*enginetest.Node
	budgets []api.PodDisruptionBudget
	pod     *enginetest.Pod
	options engine.PreemptOptions
	best    []uint32
	victims []string // of the nominated candidate
	message string   // its end
	kept    bool     // whether a nomination is kept where there is no candidate
}

func testPreemptions(t *testing.T, cases []preemptionCase) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			stated := enginetest.Cluster(test.nodes...)
			stated.Budgets = test.budgets
			f := filterOf(t, stated, &test.pod.Pod, engine.FilterOptions{Preempt: &test.options})
			p := f.Preemption
			if p == nil {
				t.Fatal("no preemption")
			}
			var victims []string
			if p.Nominated != nil {
				for _, v := range p.Nominated.Victims {
					victims = append(victims, v.Name)
				}
			}
			if p.Nominated != nil && p.Nominated.Violations > 0 {
				t.Errorf("%d violations", p.Nominated.Violations)
			}
			if !slices.Equal(p.Best, test.best) || !slices.Equal(victims, test.victims) || !strings.HasSuffix(f.Message, test.message) ||
				!strings.HasSuffix(f.Message, p.Message) || p.ClearsNomination != (len(test.best) == 0 && !test.kept) {
				t.Errorf("best %v, victims %v, message %q, clears %v", p.Best, victims, f.Message, p.ClearsNomination)
			}
		})
	}
}

// TestPreemptionVictims checks which pods go, and on which node.
func TestPreemptionVictims(t *testing.T) {
	testPreemptions(t, []preemptionCase{
		{
			name: "nodes that eviction does not help",
			nodes: []*enginetest.Node{
				roomy("n1", holding("a", 2000, 10)), roomy("n2").Allocate("cpu", 500, "pods", 10),
				roomy("n3", holding("c", 1500, 10), holding("d", 400, 1)),
			},
			pod: preemptor(),
			message: "preemption: 0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, " +
				"1 Preemption is not helpful for scheduling.",
		},
		{
			name:  "the pods of the highest importance stay",
			nodes: []*enginetest.Node{roomy("n1", holding("a", 500, 1), holding("b", 500, 2), holding("c", 500, 0), holding("d", 500, 2))},
			pod:   preemptor(), best: []uint32{0}, victims: []string{"a", "c"},
			message: "preemption: found a potential placement for pod on node n1, preempting 2 victims",
		},
		{
			name: "the pods that started earlier stay, absent is youngest, then the one that is listed later",
			nodes: []*enginetest.Node{roomy("n1",
				holding("a", 500, 1), started(holding("b", 500, 1), 9), started(holding("c", 500, 1), 3), holding("d", 500, 1))},
			pod: preemptor(), best: []uint32{0}, victims: []string{"a", "d"},
		},
		{
			name: "pods of violated budgets stay first",
			nodes: []*enginetest.Node{roomy("n1",
				holding("a", 1000, 1), holding("b", 1000, 5))},
			budgets: []api.PodDisruptionBudget{budget("a", enginetest.Selects("app", "a"), 0)},
			pod:     preemptor(), best: []uint32{0}, victims: []string{"b"},
		},
		{
			name:  "disrupted pods, empty and unparsable selectors violate nothing",
			nodes: []*enginetest.Node{roomy("n1", holding("a", 1000, 1), holding("b", 1000, 5))},
			budgets: []api.PodDisruptionBudget{
				{Namespace: "default", Name: "a", Selector: enginetest.Selects("app", "a"), Disrupted: []string{"a"}},
				budget("b", nil, 0), budget("c", &api.LabelSelector{}, 0), budget("d", enginetest.Selects("app", "?"), 0),
				{Namespace: "other", Name: "e", Selector: enginetest.Selects("app", "a")},
			},
			pod: preemptor(), best: []uint32{0}, victims: []string{"a"},
		},
		{
			name: "after an exhausted budget the next ones are not used up",
			nodes: []*enginetest.Node{roomy("n1",
				holding("a", 700, 3), holding("b", 700, 2).Label("app", "a").Label("tier", "t"), holding("c", 600, 1).Label("tier", "t"))},
			budgets: []api.PodDisruptionBudget{
				budget("a", enginetest.Selects("app", "a"), 1), budget("t", enginetest.Selects("tier", "t"), 1),
			},
			pod: preemptor(), best: []uint32{0}, victims: []string{"a", "c"},
		},
		{
			name: "a node with fewer violations",
			nodes: []*enginetest.Node{
				roomy("n1", holding("a", 2000, 1)), roomy("n2", holding("b", 2000, 9)), roomy("n3", holding("a", 2000, 1)),
			},
			budgets: []api.PodDisruptionBudget{budget("a", enginetest.Selects("app", "a"), 0)},
			pod:     preemptor(), best: []uint32{1}, victims: []string{"b"},
		},
		{
			name: "the lowest highest priority, then the lowest sum",
			nodes: []*enginetest.Node{
				roomy("n1", holding("a", 2000, 2)),
				roomy("n2", holding("b", 1000, 1), holding("c", 1000, 1).Request("cpu", 500), holding("d", 500, 1)),
				roomy("n3", holding("e", 2000, 1)),
			},
			pod: preemptor().Request("cpu", 2000), best: []uint32{2}, victims: []string{"e"},
		},
		{
			name: "ten priorities, and only the victim of the lowest",
			nodes: []*enginetest.Node{
				enginetest.MakeNode("n1").Allocate("cpu", 1, "pods", 20).Run(holding("a", 1, 5)),
				enginetest.MakeNode("n2").Allocate("cpu", 10, "pods", 20).Run(
					holding("b", 1, 20), holding("c", 1, 19), holding("d", 1, 18), holding("e", 1, 17), holding("f", 1, 16),
					holding("g", 1, 15), holding("h", 1, 14), holding("i", 1, 13), holding("j", 1, 12), holding("k", 1, 1),
				),
			},
			pod: preemptor().Request("cpu", 1).Priority(100), best: []uint32{1}, victims: []string{"k"},
		},
		{
			name: "the latest of the earliest starts among the victims with the highest priority",
			nodes: []*enginetest.Node{
				roomy("n1", started(holding("a", 1000, 2), 5), started(holding("b", 1000, 1), 100)),
				roomy("n2", started(holding("c", 1000, 2), 7), started(holding("d", 1000, 1), 1)),
				roomy("n3", started(holding("e", 1000, 2), 7), started(holding("f", 1000, 1), 2)),
			},
			pod: preemptor().Request("cpu", 2000), best: []uint32{1, 2}, victims: []string{"c", "d"},
		},
	})
}

// TestPreemptionEligibility checks which pods may preempt.
func TestPreemptionEligibility(t *testing.T) {
	testPreemptions(t, []preemptionCase{
		{
			name:  "preemptionPolicy Never",
			nodes: []*enginetest.Node{roomy("n1", holding("a", 2000, 1))},
			pod:   neverPreempting(), kept: true,
			message: "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.",
		},
		{
			name:  "a terminating victim on the nominated node",
			nodes: []*enginetest.Node{roomy("n1", preemptedPod(holding("a", 2000, 1))), roomy("n2", holding("b", 2000, 1))},
			pod:   preemptor().NominatedTo("n1"), kept: true,
			message: "0/2 nodes are available: 2 Insufficient cpu. " +
				"preemption: not eligible due to a terminating pod on the nominated node.",
		},
		{
			name:  "a nominated node that is out of the question",
			nodes: []*enginetest.Node{roomy("n1", preemptedPod(holding("a", 2000, 1))).Cordon(), roomy("n2", holding("b", 2000, 1))},
			pod:   preemptor().NominatedTo("n1"), best: []uint32{1}, victims: []string{"b"},
		},
		{
			name:  "a terminating pod of the same priority on the nominated node",
			nodes: []*enginetest.Node{roomy("n1", preemptedPod(holding("a", 2000, 10))), roomy("n2", holding("b", 2000, 1))},
			pod:   preemptor().NominatedTo("n1"), best: []uint32{1}, victims: []string{"b"},
		},
		{
			name:  "PreFilter rejects the pod",
			nodes: []*enginetest.Node{roomy("n1", holding("a", 2000, 1)), roomy("n2", holding("b", 2000, 1))},
			pod:   conflicting(), kept: true,
			message: "0/2 nodes are available: pod affinity terms conflict. not found",
		},
	})
}

// TestPreemptionCounts checks what rules count without victims.
func TestPreemptionCounts(t *testing.T) {
	testPreemptions(t, []preemptionCase{
		{
			name: "a terminating victim that spread subtracts though it never counted",
			nodes: []*enginetest.Node{
				enginetest.MakeNode("n1").Zone("z1").Allocate("cpu", 2000, "pods", 10).Run(holding("w", 100, 100),
					holding("t", 100, 1).Label("app", "w").Terminate(), holding("o", 1500, 1)),
				enginetest.MakeNode("n2").Zone("z2").Allocate("cpu", 2000, "pods", 10).Run(holding("big", 2000, 100)),
			},
			pod:  preemptor().Label("app", "w").Spread("topology.kubernetes.io/zone", 1, enginetest.Selects("app", "w")),
			best: []uint32{0}, victims: []string{"t", "o"},
		},
		{
			name: "the same, counted as Filter counts",
			nodes: []*enginetest.Node{
				enginetest.MakeNode("n1").Zone("z1").Allocate("cpu", 2000, "pods", 10).Run(holding("w", 100, 100),
					holding("t", 100, 1).Label("app", "w").Terminate(), holding("o", 1500, 1)),
				enginetest.MakeNode("n2").Zone("z2").Allocate("cpu", 2000, "pods", 10).Run(holding("big", 2000, 100)),
			},
			options: engine.PreemptOptions{RecountSpread: true},
			pod:     preemptor().Label("app", "w").Spread("topology.kubernetes.io/zone", 1, enginetest.Selects("app", "w")),
			message: "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, " +
				"1 node(s) didn't match pod topology spread constraints.",
		},
		{
			name: "a host port that a pod that stays holds, too",
			nodes: []*enginetest.Node{
				roomy("n1", holdingPort("a", 1, 80), holdingPort("b", 100, 80)),
				roomy("n2", holdingPort("c", 100, 80), holdingPort("d", 1, 81)),
			},
			pod: preemptor().HostPort(80), best: []uint32{0}, victims: []string{"a"},
		},
		{
			name:    "two host ports, one of them held by a pod that stays",
			nodes:   []*enginetest.Node{roomy("n1", holdingPort("a", 1, 80), holdingPort("b", 100, 80).HostPort(81))},
			pod:     preemptor().HostPort(80).HostPort(81),
			message: "preemption: 0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
		},
		{
			name: "a victim that the pod has affinity to",
			nodes: []*enginetest.Node{
				roomy("n1", holding("a", 2000, 1)), roomy("n2", holding("b", 1500, 1), holding("a", 500, 20)),
			},
			pod:  preemptor().Affinity("kubernetes.io/hostname", enginetest.Selects("app", "a")),
			best: []uint32{1}, victims: []string{"b"},
		},
		{
			name:  "the first of its set, once the victim that matches is gone",
			nodes: []*enginetest.Node{roomy("n1", holding("x", 2000, 1))},
			pod:   preemptor().Affinity("kubernetes.io/hostname", enginetest.Selects("app", "x")),
			best:  []uint32{0}, victims: []string{"x"},
		},
		{
			name: "anti-affinity of a victim and in the domain of another node",
			nodes: []*enginetest.Node{
				enginetest.MakeNode("n1").Zone("z").Run(
					holding("a", 100, 1).AntiAffinity("topology.kubernetes.io/zone", enginetest.Selects("app", "x"))),
				enginetest.MakeNode("n2").Zone("z").Run(holding("b", 100, 1)),
			},
			pod: preemptor(), best: []uint32{0}, victims: []string{"a"},
		},
		{
			name: "a nominated pod that the victims would make room for",
			nodes: []*enginetest.Node{
				roomy("n1", holding("a", 2000, 1)).Nominate(holding("waiting", 1500, 10)),
				roomy("n2", holding("b", 2000, 1)).Nominate(holding("w", 1500, 9)),
			},
			pod: preemptor(), best: []uint32{1}, victims: []string{"b"},
		},
	})
}

// TestNoPreemption has the pods that kube-scheduler runs no preemption for.
func TestNoPreemption(t *testing.T) {
	full := enginetest.Cluster(
		enginetest.MakeNode("n1").Allocate("cpu", 1000, "pods", 10).Run(enginetest.MakePod("a").Request("cpu", 900)),
	)
	gated := enginetest.MakePod("gated").Request("cpu", 1000).Priority(1)
	gated.Template.Spec.SchedulingGates = []string{"gate"}
	unparsable := enginetest.MakePod("unparsable").Request("cpu", 1000).Priority(1).Spread("zone", 1, enginetest.Selects("app", "?"))
	for _, test := range []struct {
		name string
		c    *api.Cluster
		pod  *enginetest.Pod
	}{
		{"gated", full, gated},
		{"no nodes", &api.Cluster{}, enginetest.MakePod("p").Priority(1)},
		{"internal error", full, unparsable},
		{"feasible", full, enginetest.MakePod("small").Request("cpu", 100).Priority(1)},
	} {
		o := engine.FilterOptions{Preempt: &engine.PreemptOptions{All: true}}
		with, without := filterOf(t, test.c, &test.pod.Pod, o), filterOf(t, test.c, &test.pod.Pod, engine.FilterOptions{})
		if diff := gocmp.Diff(without, with); diff != "" {
			t.Errorf("%s: preemption changes the answer:\n%s", test.name, diff)
		}
	}
}

// TestPreemptionOfCountedPods evicts a part of a run of equal pods, which budgets split.
func TestPreemptionOfCountedPods(t *testing.T) {
	template := enginetest.MakePod("").Label("app", "a").Request("cpu", 100).Template
	stated := enginetest.Cluster(enginetest.MakeNode("n1").Allocate("cpu", 3000, "pods", 100))
	stated.Templates = []*api.PodTemplate{template}
	stated.Nodes[0].PodCounts = []api.PodCount{{Template: 0, Count: 30}}
	pod := enginetest.MakePod("x").Request("cpu", 1250).Priority(1)
	for _, test := range []struct{ allowed, violations int32 }{{0, 13}, {10, 3}, {13, 0}, {30, 0}, {-1, 13}} {
		stated.Budgets = []api.PodDisruptionBudget{
			budget("a", enginetest.Selects("app", "a"), test.allowed), budget("b", enginetest.Selects("app", "a"), 40),
		}
		p := filterOf(t, stated, &pod.Pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{}}).Preemption
		want := &verdict.Candidate{Victims: []verdict.PodReference{{
			Namespace: "default", Count: 13, Queue: -1,
		}}, Violations: int(test.violations)}
		if diff := gocmp.Diff(want, p.Nominated); diff != "" {
			t.Errorf("%d allowed (-want +got):\n%s", test.allowed, diff)
		}
	}
	stated.Nodes[0].Allocatable = enginetest.Resources("cpu", 100*int64(1<<31-1), "pods", int64(1<<31))
	stated.Nodes[0].PodCounts[0].Count = 1<<31 - 1
	p := filterOf(t, stated, &pod.Pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{}}).Preemption
	if p.Nominated == nil || p.Nominated.Victims[0].Count != 13 {
		t.Errorf("of %d pods: %+v", 1<<31-1, p)
	}
}

// TestPlacePreempts compares the preemption of Place with Filter's in the cluster with the pods that were placed before.
func TestPlacePreempts(t *testing.T) {
	stated := enginetest.Cluster(
		enginetest.MakeNode("n1").Allocate("cpu", 1000, "pods", 10), enginetest.MakeNode("n2").Allocate("cpu", 1000, "pods", 10),
	)
	small := enginetest.MakePod("small").Request("cpu", 600)
	large := enginetest.MakePod("large").Request("cpu", 700).Priority(1)
	queue := []engine.Pending{pending(2, small), pending(2, large), pending(1, small), pending(1, large)}
	for _, scan := range []bool{false, true} {
		result, err := compiled(t, stated).Place(t.Context(), queue, engine.PlaceOptions{
			Profile: api.Kube137(), Preempt: true, Scan: scan, Groups: []engine.PodGroup{{Name: "g", Entries: []int{3}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := result.Placements[1]
		want := &verdict.Preemption{
			Best:    []uint32{0, 1},
			Message: "preemption: found a potential placement for pod on node n1, preempting 1 victims",
			Nominated: &verdict.Candidate{Victims: []verdict.PodReference{{
				Namespace: "default", Name: "small", Count: 1, Template: -1,
			}}},
		}
		if diff := gocmp.Diff(want, got.Preemption); diff != "" || !strings.HasSuffix(got.Message, " "+want.Message) {
			t.Errorf("scan %v: %q (-want +got):\n%s", scan, got.Message, diff)
		}
		p := result.Placements[2]
		if p.Preemption == nil || p.Preemption.Nominated != nil || !p.Preemption.ClearsNomination {
			t.Errorf("scan %v: a pod without victims: %+v", scan, p.Preemption)
		}
		if p := result.Placements[3]; p.Preemption != nil || strings.Contains(p.Message, "preemption") {
			t.Errorf("scan %v: a pod of a group: %+v", scan, p)
		}
		if result.Placements[0].Preemption != nil {
			t.Error("a placed pod preempts")
		}
	}
}
