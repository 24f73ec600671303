package engine_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// The searches beyond kube-scheduler end: by their own bounds, or at the deadline.
func TestBeyondKubeSchedulerOnFullClusters(t *testing.T) {
	stated := fullCluster(600, true)
	for _, p := range stated.Templates {
		p.Controller.Kind = api.ReplicaSet
	}
	c := compiled(t, stated)
	plain := func() *enginetest.Pod {
		return enginetest.MakePod("p").Label("app", "app-3").Request("cpu", 1000).Priority(10)
	}
	selects := enginetest.Selects("app", "app-3")
	for name, pod := range map[string]*enginetest.Pod{
		"resources":     plain(),
		"anti-affinity": plain().AntiAffinity(zoneKey, selects),
		"spread":        plain().Spread(zoneKey, 1, selects).Spread(hostKey, 1, selects),
	} {
		o := engine.FilterOptions{Profile: api.Kube137(), Preempt: &engine.PreemptOptions{
			Safe: &engine.SafeOptions{Candidates: 50, Cascades: 1}, AcrossSteps: 1 << 14,
		}}
		start := time.Now()
		f, err := c.Filter(t.Context(), &pod.Pod, o)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		p := f.Preemption
		if s := p.Safe; s != nil {
			t.Logf("%s: %d examined, truncated: %t, safe: %t", name, s.Examined, s.Truncated, s.Candidate != nil)
		}
		if (p.Safe == nil) != (p.Nominated == nil) || p.Across.Candidate == nil {
			t.Errorf("%s: safe %+v, across %+v", name, p.Safe, p.Across)
			continue
		}
		t.Logf("%s: %d victims on any nodes, %d steps, proven: %t; %v in all",
			name, len(p.Across.Candidate.Victims), p.Across.Steps, p.Across.Proven, took)
		if name != "spread" && !p.Across.Proven {
			t.Errorf("%s: not proven", name)
		}
		for _, only := range []engine.PreemptOptions{{Safe: &engine.SafeOptions{Candidates: 10_000}}, {AcrossSteps: 1 << 26}} {
			ctx, cancel := context.WithTimeout(t.Context(), took/20)
			start := time.Now()
			_, err := c.Filter(ctx, &pod.Pod, engine.FilterOptions{Profile: api.Kube137(), Preempt: &only})
			cancel()
			if over := time.Since(start); over > took+5*time.Second || err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v after %v", name, err, over)
			}
		}
	}
}

// Counted pods may be 2^30 on a node. The number that comes back is bounded, and a search takes no more than it needs.
func TestBeyondKubeSchedulerOfCountedPods(t *testing.T) {
	const pods = 1 << 30
	stated := enginetest.Cluster(enginetest.MakeNode("n").Allocate("cpu", pods, "pods", math.MaxInt32))
	stated.Nodes[0].PodCounts = []api.PodCount{{Count: pods}}
	stated.Templates = []*api.PodTemplate{controlledBy(api.ReplicaSet, enginetest.MakePod("").Label("app", "a").Request("cpu", 1)).Template}
	stated.Budgets = []api.PodDisruptionBudget{budget("b", enginetest.Selects("app", "a"), 4)}
	ask := func(cpu int, apart bool) {
		pod := enginetest.MakePod("x").Request("cpu", cpu).Priority(1)
		if apart {
			pod.AntiAffinity(hostKey, enginetest.Selects("app", "a"))
		}
		p := filterOf(t, stated, &pod.Pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{
			Safe: &engine.SafeOptions{Candidates: 5}, AcrossSteps: 1 << 20,
		}}).Preemption
		if s := p.Safe; s.Candidate != nil || len(s.Unsafe) == 0 || s.Truncated != apart {
			t.Errorf("%d: %+v", cpu, s)
		}
		if a := p.Across; !a.Proven || len(a.Candidate.Victims) != 1 {
			t.Errorf("%d: %+v", cpu, a)
		} else if want := cpu; !apart && (a.Candidate.Victims[0].Count != want || a.Candidate.Violations != want-4) ||
			apart && (a.Candidate.Victims[0].Count != pods || a.Candidate.Violations != pods-4) {
			t.Errorf("%d: %+v", cpu, a.Candidate)
		}
	}
	ask(10, false)
	ask(2000, false)
	ask(1, true)
}
