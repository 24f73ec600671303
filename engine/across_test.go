package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// lossAcross is what victims on any nodes cost.
type lossAcross struct {
	violations int
	highest    int32
	pods       int
}

func (l lossAcross) less(o lossAcross) bool {
	a, b := []int{l.violations, int(l.highest), l.pods}, []int{o.violations, int(o.highest), o.pods}
	return slices.Compare(a, b) < 0
}

// onNode is a pod of a node.
type onNode struct {
	victimOf
	node int
}

// lossOf returns what pods cost as victims.
func lossOf(c *api.Cluster, gone []onNode) lossAcross {
	l := lossAcross{highest: math.MinInt32, pods: len(gone)}
	charged := make([]int, len(c.Budgets))
	for _, v := range gone {
		l.highest = max(l.highest, v.pod.Template.Spec.Priority)
		labels := v.pod.Template.Labels.With(v.pod.Labels)
		for i, b := range c.Budgets {
			if len(labels) > 0 && b.Namespace == v.pod.Template.Namespace && b.Selector != nil && len(b.Selector.MatchLabels) > 0 &&
				!slices.ContainsFunc(b.Selector.MatchLabels, func(l api.Label) bool { return !slices.Contains(labels, l) }) &&
				!slices.Contains(b.Disrupted, v.pod.Name) {
				charged[i]++
			}
		}
	}
	for i, b := range c.Budgets {
		l.violations += max(0, charged[i]-int(max(0, b.DisruptionsAllowed)))
	}
	return l
}

func withoutAll(c *api.Cluster, gone []onNode) *api.Cluster {
	for node := range c.Nodes {
		var here []victimOf
		for _, v := range gone {
			if v.node == node {
				here = append(here, v.victimOf)
			}
		}
		if here != nil {
			c = withoutVictims(c, node, here)
		}
	}
	return c
}

// bestAcross tries all sets of pods of lower priority. It reports whether there is one that makes a node feasible, and what the
// best costs.
func bestAcross(t *testing.T, c *api.Cluster, pod *api.Pod, removable []onNode) (best lossAcross, found bool) {
	asked := *pod
	asked.NominatedNode = ""
	for set := range 1 << len(removable) {
		var gone []onNode
		for i := range removable {
			if set>>i&1 != 0 {
				gone = append(gone, removable[i])
			}
		}
		loss := lossOf(c, gone)
		if found && !loss.less(best) {
			continue
		}
		if f := filterOf(t, withoutAll(c, gone), &asked, engine.FilterOptions{}); len(f.Feasible) > 0 && !f.Failed {
			best, found = loss, true
		}
	}
	return best, found
}

// removableOf returns the pods of lower priority.
func removableOf(c *api.Cluster, pod *api.Pod) (out []onNode) {
	for node := range c.Nodes {
		for _, v := range podsOf(c, node) {
			if v.pod.Template.Spec.Priority < pod.Template.Spec.Priority {
				out = append(out, onNode{v, node})
			}
		}
	}
	return out
}

// goneOf returns the pods that an answer calls victims.
func goneOf(t *testing.T, c *api.Cluster, removable []onNode, candidate *verdict.Candidate) (gone []onNode) {
	t.Helper()
	rest := slices.Clone(removable)
	for _, v := range candidate.Victims {
		for range v.Count {
			i := slices.IndexFunc(rest, func(o onNode) bool {
				if o.node != int(v.Node) || (o.count < 0) != (v.Name != "") {
					return false
				}
				return v.Name != "" && o.pod.Name == v.Name || v.Name == "" && c.Nodes[o.node].PodCounts[o.count].Template == v.Template
			})
			if i < 0 {
				t.Fatalf("%+v is not there, or there twice, or as important as the pod", v)
			}
			gone = append(gone, rest[i])
			rest = slices.Delete(rest, i, i+1)
		}
	}
	return gone
}

// TestAcrossEqualsExhaustion compares victims on any nodes with all sets of pods that could go.
func TestAcrossEqualsExhaustion(t *testing.T) {
	found, impossible, several, spread, more := 0, 0, 0, 0, 0
	for seed := range uint64(cases(1200)) {
		rng := rand.New(rand.NewPCG(seed, 93))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomVictims(rng, stated, pods)
		stated.Nodes = stated.Nodes[:min(len(stated.Nodes), 2+rng.IntN(3))]
		for i := range stated.Nodes {
			n := &stated.Nodes[i]
			n.Pods = n.Pods[:min(len(n.Pods), 3)]
			n.PodCounts = n.PodCounts[:min(len(n.PodCounts), 1)]
			if rng.IntN(3) > 0 {
				n.Nominated = nil
			}
		}
		pod := pods[0]
		own := *pod.Template
		own.Spec.NeverPreempts = false
		own.Spec.Priority = 2
		app := []string{"web", "db", "cache"}[rng.IntN(3)]
		for i := range stated.Nodes {
			n := &stated.Nodes[i]
			if rng.IntN(2) == 0 {
				n.Labels = n.Labels.With(api.Labels{{Key: zoneKey, Value: "a"}})
			}
			for j := range n.Pods {
				if p := &n.Pods[j]; rng.IntN(2) == 0 {
					own := *p.Template
					own.Namespace, own.Labels = pod.Template.Namespace, api.Labels{{Key: "app", Value: app}}
					p.Template = &own
				}
			}
		}
		switch selects := enginetest.Selects("app", app); rng.IntN(4) {
		case 0:
			own.Spec.PodAntiAffinity = &api.PodAffinity{Required: []api.PodAffinityTerm{{TopologyKey: zoneKey, LabelSelector: selects}}}
		case 1:
			own.Spec.PodAffinity = &api.PodAffinity{Required: []api.PodAffinityTerm{{TopologyKey: zoneKey, LabelSelector: selects}}}
		case 2:
			own.Spec.Spread = []api.TopologySpreadConstraint{{TopologyKey: zoneKey, MaxSkew: 1, MinDomains: 1, LabelSelector: selects}}
		}
		pod.Template, pod.TemplateIndex = &own, -1
		removable := removableOf(stated, &pod)
		if len(removable) > 9 {
			continue
		}
		f := filterOf(t, stated, &pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{AcrossSteps: 1 << 20}})
		if f.Preemption == nil || f.Preemption.Across == nil {
			continue
		}
		got := f.Preemption.Across
		want, exists := bestAcross(t, stated, &pod, removable)
		if !got.Proven || (got.Candidate != nil) != exists {
			t.Fatalf("seed %d: %+v, but a set of victims exists: %t", seed, got, exists)
		}
		if !exists {
			impossible++
			continue
		}
		found++
		gone := goneOf(t, stated, removable, got.Candidate)
		if loss := lossOf(stated, gone); loss != want || got.Candidate.Violations != want.violations {
			t.Fatalf("seed %d: %+v costs %+v, the best set %+v", seed, got.Candidate, loss, want)
		}
		asked := pod
		asked.NominatedNode = ""
		after := filterOf(t, withoutAll(stated, gone), &asked, engine.FilterOptions{})
		if !slices.Contains(after.Feasible, got.Candidate.Node) {
			t.Fatalf("seed %d: node %d still rejects the pod: %s", seed, got.Candidate.Node, after.Message)
		}
		if len(gone) > 1 {
			several++
		}
		if slices.ContainsFunc(gone, func(v onNode) bool { return v.node != gone[0].node }) {
			spread++
		}
		if f.Preemption.Nominated == nil {
			more++
		}
	}
	t.Logf("%d found, %d impossible, %d with several victims, %d on several nodes, %d where kube-scheduler finds none",
		found, impossible, several, spread, more)
	if allCases() && min(found, impossible, several, spread, more) == 0 {
		t.Error("some outcome never occurs")
	}
}

// The budget of steps ends the search, and the answer says so. More steps give the same or a better answer.
func TestStepsAcrossNodes(t *testing.T) {
	var nodes []*enginetest.Node
	for i := range 4 {
		n := enginetest.MakeNode(fmt.Sprint("n", i)).Zone("a").Allocate("cpu", 1000, "pods", 20)
		for j := range 12 {
			n.Run(holding(fmt.Sprint(i, "-", j), 70+(i*7+j*5)%20, int32(j%3)))
		}
		nodes = append(nodes, n)
	}
	c, pod := enginetest.Cluster(nodes...), &preemptor().Request("cpu", 400).Pod
	var last *verdict.AcrossNodes
	ended := 0
	for _, steps := range []int{1, 3, 10, 100, 1000, 1 << 20} {
		got := filterOf(t, c, pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{AcrossSteps: steps}}).Preemption.Across
		if got.Steps > steps {
			t.Errorf("%d steps of %d", got.Steps, steps)
		}
		if !got.Proven {
			ended++
		}
		if last != nil && last.Candidate != nil && (got.Candidate == nil || len(got.Candidate.Victims) > len(last.Candidate.Victims) ||
			last.Proven && !got.Proven) {
			t.Errorf("%+v with %d steps, %+v with fewer", got, steps, last)
		}
		last = got
	}
	if ended == 0 || !last.Proven {
		t.Errorf("%d searches ended early, the last is proven: %t", ended, last.Proven)
	}
}

// A pod that zone anti-affinity keeps out of all zones: kube-scheduler finds no victims, as they are on two nodes.
func TestZoneAntiAffinityAcrossNodes(t *testing.T) {
	selects := enginetest.Selects("app", "db")
	db := func(name string, priority int32) *enginetest.Pod {
		return enginetest.MakePod(name).Label("app", "db").Priority(priority)
	}
	c := enginetest.Cluster(
		enginetest.MakeNode("a1").Zone("a").Run(db("p", 0)), enginetest.MakeNode("a2").Zone("a").Run(db("q", 5)),
		enginetest.MakeNode("b1").Zone("b").Run(db("r", 6)), enginetest.MakeNode("b2").Zone("b").Run(db("s", 1)),
		enginetest.MakeNode("c1").Zone("c").Run(db("t", 100)), enginetest.MakeNode("c2").Zone("c").Run(db("u", 0)),
	)
	pod := &preemptor().AntiAffinity(zoneKey, selects).Pod
	p := filterOf(t, c, pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{AcrossSteps: 100}}).Preemption
	if p.Nominated != nil {
		t.Fatalf("kube-scheduler finds %+v", p.Nominated)
	}
	got := p.Across
	if !got.Proven || got.Candidate == nil || got.Candidate.Node != 0 || len(got.Candidate.Victims) != 2 ||
		got.Candidate.Victims[0].Name != "q" || got.Candidate.Victims[1].Name != "p" {
		t.Errorf("%+v %+v", got, got.Candidate)
	}
}

// A victim that is tried is a step, even if no other victims are looked for with it.
func TestTriedVictimsAreSteps(t *testing.T) {
	n := enginetest.MakeNode("n").Allocate("cpu", 4000, "pods", 200)
	n.Run(enginetest.MakePod("b").Label("pdb", "b").Request("cpu", 40))
	for i := range 99 {
		n.Run(holding(fmt.Sprint(i), 40, 9))
	}
	c, pod := enginetest.Cluster(n), &preemptor().Request("cpu", 40).Pod
	c.Budgets = []api.PodDisruptionBudget{budget("b", enginetest.Selects("pdb", "b"), 0)}
	across := func(steps int) *verdict.AcrossNodes {
		return filterOf(t, c, pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{AcrossSteps: steps}}).Preemption.Across
	}
	if got := across(1000); !got.Proven || got.Steps < 100 || len(got.Candidate.Victims) != 1 {
		t.Errorf("%+v", got)
	}
	if got := across(10); got.Proven || got.Steps != 10 || len(got.Candidate.Victims) != 1 {
		t.Errorf("%+v with 10 steps", got)
	}
}

// More victims than the search takes are not taken at all.
func TestTooManyVictimsAcrossNodes(t *testing.T) {
	n := enginetest.MakeNode("n").Allocate("cpu", 4000, "pods", 10_000)
	for i := range 4097 {
		n.Run(enginetest.MakePod(fmt.Sprint(i)).Label("app", "a"))
	}
	pod := &preemptor().AntiAffinity(hostKey, enginetest.Selects("app", "a")).Pod
	o := engine.FilterOptions{Preempt: &engine.PreemptOptions{AcrossSteps: 1000}}
	if got := filterOf(t, enginetest.Cluster(n), pod, o).Preemption.Across; got.Proven || got.Steps != 1 || got.Candidate != nil {
		t.Errorf("%+v", got)
	}
}
