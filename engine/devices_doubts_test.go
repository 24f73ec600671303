package engine_test

import (
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// notEvaluated is a pod whose claim has an expression without an outcome, so that no search for its devices is decided.
func notEvaluated() api.Pod {
	t := claimingDevices(1)
	t.Spec.ResourceClaims[0].Template.Requests[0].Exactly.Selectors = []api.DeviceSelector{{Expression: "unknown"}}
	t.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: "owner"}
	return api.Pod{Template: t, TemplateIndex: -1}
}

// TestUndecidedDevicesAreADoubt asks every question about a pod whose devices are not decided, and about one that claims none.
func TestUndecidedDevicesAreADoubt(t *testing.T) {
	stated := gpuCluster(4, 2)
	stated.Devices.Expressions = []api.DeviceExpression{{Name: "unknown", Text: "unknown"}}
	claiming, plain := notEvaluated(), enginetest.MakePod("").Request("cpu", 100).Pod
	plain.Template.Controller = claiming.Template.Controller
	stated.Templates = []*api.PodTemplate{claiming.Template, plain.Template}
	stated.Nodes[0].PodCounts, stated.Nodes[1].PodCounts = []api.PodCount{{Template: 0, Count: 1}}, []api.PodCount{{Template: 1, Count: 1}}
	c, ctx, profile := compiled(t, stated), t.Context(), api.Kube137()
	queue := []engine.Pending{{Pod: plain, Count: 1}, {Pod: claiming, Count: 2}}
	all := []uint32{0, 1, 2}

	check := func(what string, doubts []verdict.Doubt, err error, of ...verdict.PodReference) {
		t.Helper()
		var want []verdict.Doubt
		for i := range of {
			want = append(want, verdict.Doubt{Kind: verdict.DevicesUndecided, Pod: of[i]})
		}
		if err != nil || !slices.Equal(doubts, want) {
			t.Errorf("%s: error %v, doubts %v, want %v", what, err, doubts, want)
		}
	}
	pending := func(entry, count int) verdict.PodReference {
		return verdict.PodReference{Namespace: "default", Node: verdict.NoNode, Template: -1, Queue: entry, Count: count}
	}
	evicted := verdict.PodReference{Namespace: "default", Node: 0, Template: 0, Queue: -1, Count: 1}

	f, err := c.Filter(ctx, &claiming, engine.FilterOptions{Profile: profile})
	check("Filter", f.Doubts, err, pending(0, 1))
	f, err = c.Filter(ctx, &plain, engine.FilterOptions{Profile: profile})
	check("Filter without claims", f.Doubts, err)
	s, err := c.Score(ctx, &claiming, engine.ScoreOptions{Profile: profile})
	check("Score", s.Doubts, err, pending(0, 1))
	for _, scheduler := range []bool{false, true} {
		p, err := c.Place(ctx, queue, engine.PlaceOptions{Profile: profile, Scheduler: scheduler})
		check("Place", p.Doubts, err, pending(1, 2))
		w, err := c.WhatIf(ctx, &engine.Scenario{Queue: queue, Cordoned: []uint32{2}}, engine.WhatIfOptions{Profile: profile, Scheduler: scheduler})
		check("WhatIf", w.Doubts, err, pending(1, 2))
	}
	fits, err := c.Fit(ctx, queue, engine.FitOptions{Profile: profile, Units: 5, TopologyKey: "kubernetes.io/hostname", Changes: true})
	check("Fit", fits.Doubts, err, pending(1, 2))
	fits, err = c.Fit(ctx, queue[:1], engine.FitOptions{Profile: profile, Units: 5, TopologyKey: "kubernetes.io/hostname"})
	check("Fit without claims", fits.Doubts, err)
	provisioned, err := c.Provision(ctx, queue, engine.ProvisionOptions{
		Profile: profile, MaxNodes: 1, Steps: 100, Templates: []engine.NodeTemplate{{Node: api.Node{Name: "new"}, Price: 1, Most: 1}},
	})
	check("Provision", provisioned.Place.Doubts, err, pending(1, 2))

	// The drain after the one of the first node has the same state, and no doubt.
	for _, mode := range []engine.DrainMode{engine.DrainEach, engine.DrainTogether, engine.DrainLargestSet} {
		for _, nodes := range [][]uint32{all, {1, 2}} {
			var doubts []verdict.Doubt
			var of []verdict.PodReference
			sum, err := c.Drain(ctx, engine.DrainOptions{Profile: profile, Nodes: nodes, Mode: mode, Steps: 1000}, func(d *verdict.Drain) error {
				doubts = append(doubts, d.Doubts...)
				return nil
			})
			if nodes[0] == 0 && mode != engine.DrainLargestSet {
				of = append(of, evicted)
			}
			check("Drain", doubts, err, of...)
			if proven := nodes[0] != 0; mode == engine.DrainLargestSet && sum.Proven != proven {
				t.Errorf("the largest set of %v is proven: %v", nodes, sum.Proven)
			}
		}
	}
	consolidated, err := c.Consolidate(ctx, engine.ConsolidateOptions{
		Profile: profile, Candidates: []engine.PricedNode{{Node: 0, Price: 1}, {Node: 1, Price: 1}}, MaxActions: 3, MaxNodes: 2, Steps: 1000,
	})
	var doubts []verdict.Doubt
	for _, k := range consolidated.Kept {
		doubts = append(doubts, k.Drain.Doubts...)
	}
	check("Consolidate", doubts, err, evicted)
	if consolidated.Optimal {
		t.Error("Consolidate is optimal although a drain was not decided")
	}
}

// TestUndecidedVictimIsADoubt preempts a pod that comes back, and whose devices are not decided.
func TestUndecidedVictimIsADoubt(t *testing.T) {
	stated := gpuCluster(2, 2)
	stated.Devices.Expressions = []api.DeviceExpression{{Name: "unknown", Text: "unknown"}}
	victim := notEvaluated()
	stated.Nodes[0].Allocatable = enginetest.Resources("cpu", 150, "memory", 1<<30, "pods", 110)
	stated.Templates = []*api.PodTemplate{victim.Template}
	stated.Nodes[0].PodCounts = []api.PodCount{{Template: 0, Count: 1}}
	pod := enginetest.MakePod("").Request("cpu", 100).Pod
	pod.Template.Spec.Priority = 10
	f, err := compiled(t, stated).Filter(t.Context(), &pod, engine.FilterOptions{
		Profile: api.Kube137(), Candidates: []uint32{0}, Preempt: &engine.PreemptOptions{Safe: &engine.SafeOptions{Candidates: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Doubts) != 1 || f.Doubts[0].Kind != verdict.DevicesUndecided || f.Doubts[0].Pod.Queue >= 0 {
		t.Errorf("doubts %v", f.Doubts)
	}
}

// forgetUndecided removes the doubts about devices that were not decided from a drain, as the references have none.
func forgetUndecided(t testing.TB, stated *api.Cluster, d *verdict.Drain) {
	t.Helper()
	kept := slices.DeleteFunc(slices.Clone(d.Doubts), func(d verdict.Doubt) bool { return d.Kind == verdict.DevicesUndecided })
	if len(kept) == len(d.Doubts) {
		return
	}
	if len(stated.Devices.Expressions) == 0 {
		t.Errorf("%v, although all searches for devices are decided", d.Doubts)
	}
	if d.Doubts = kept; len(kept) == 0 {
		d.Doubts = nil
	}
}
