package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// shareTemplates makes the templates of the pods on nodes templates of the cluster.
func shareTemplates(c *api.Cluster) {
	for i := range c.Nodes {
		for j := range c.Nodes[i].Pods {
			if p := &c.Nodes[i].Pods[j]; p.TemplateIndex < 0 {
				p.TemplateIndex = len(c.Templates)
				c.Templates = append(c.Templates, p.Template)
			}
		}
	}
}

// controlledBy lets a controller of a kind control a pod.
func controlledBy(kind api.WorkloadKind, p *enginetest.Pod) *enginetest.Pod {
	p.Template.Controller = api.ControllerReference{Kind: kind}
	return p
}

func replacementsText(c *api.Cluster, of []verdict.Replacement) string {
	var out []string
	for _, r := range of {
		text := fmt.Sprint(r.Pod.Name, "/", r.Cascade)
		for _, n := range r.Nodes {
			text += " to " + c.Nodes[n].Name
		}
		for _, e := range r.Evicted {
			text += " evicting " + e.Name
		}
		if r.Unplaced > 0 {
			text += fmt.Sprint(" unplaced ", r.Unplaced, " ", r.Message, r.Unknown)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func TestSafePreemption(t *testing.T) { //nolint:funlen // a table of cases
	node := func(name string, pods ...*enginetest.Pod) *enginetest.Node {
		return enginetest.MakeNode(name).Allocate("cpu", 8000, "pods", 110).Run(pods...)
	}
	ssd := func(name string, pods ...*enginetest.Pod) *enginetest.Node {
		return node(name, pods...).Label("disk", "ssd")
	}
	started := func(at int64, p *enginetest.Pod) *enginetest.Pod {
		p.StartTime = at * 1e9
		return p
	}
	web := func(name string, cpu int, priority int32) *enginetest.Pod {
		return controlledBy(api.ReplicaSet, holding(name, cpu, priority))
	}
	slotted := func(p *enginetest.Pod) *enginetest.Pod {
		p.Labels = api.Labels{{Key: "slot", Value: "0"}}
		return p
	}
	agent := func() *enginetest.Pod { return controlledBy(api.DaemonSet, holding("agent", 4000, 0)) }
	const short = "0/2 nodes are available: 2 Insufficient cpu."
	const shortAlone = "0/1 nodes are available: 1 Insufficient cpu."
	for name, test := range map[string]struct {
		nodes        []*enginetest.Node
		options      engine.SafeOptions
		own          bool   // leave the pods their own templates
		nominated    string // the node, and its victims
		safe         string
		replacements string
		unsafe       string
		examined     int
		truncated    bool
	}{
		"the victim has another node": {
			nodes:     []*enginetest.Node{ssd("a", web("p", 6000, 0)), node("b", holding("q", 2000, 100))},
			nominated: "a p", safe: "a p", replacements: "p/0 to b", examined: 1,
		},
		"the victim has none": {
			nodes:     []*enginetest.Node{ssd("a", web("p", 6000, 0)), node("b", holding("q", 5000, 100))},
			nominated: "a p", unsafe: "p/0 unplaced 1 " + short + "false", examined: 1,
		},
		"a pod without a controller does not come back": {
			nodes:     []*enginetest.Node{ssd("a", holding("p", 6000, 0)), node("b", holding("q", 5000, 100))},
			nominated: "a p", safe: "a p", examined: 1,
		},
		"a terminating pod leaves anyhow": {
			nodes:     []*enginetest.Node{ssd("a", web("p", 6000, 0).Terminate()), node("b", holding("q", 5000, 100))},
			nominated: "a p", safe: "a p", examined: 1,
		},
		"what comes back is not known": {
			nodes: []*enginetest.Node{ssd("a", web("p", 6000, 0)), node("b", holding("q", 2000, 100))}, own: true,
			nominated: "a p", unsafe: "p/0 unplaced 1 true", examined: 1,
		},
		"the next candidate is safe": {
			nodes: []*enginetest.Node{
				ssd("a", controlledBy(api.DaemonSet, holding("p", 6000, 0)), holding("z", 2000, 100)), ssd("b", web("q", 6000, 5)),
				node("c", holding("r", 2000, 100)),
			},
			nominated: "a p", safe: "b q", replacements: "q/0 to c", unsafe: "p/0 unplaced 1 " + shortAlone + "false", examined: 2,
		},
		"another victim of the same node": {
			nodes: []*enginetest.Node{
				ssd("gpu", started(1, web("web", 4000, 0)), started(9, agent())), node("plain", holding("q", 4000, 100)),
			},
			nominated: "gpu agent", safe: "gpu web", replacements: "web/0 to plain",
			unsafe: "agent/0 unplaced 1 " + shortAlone + "false", examined: 2,
		},
		"a victim reads a label of another one's own": {
			nodes: []*enginetest.Node{
				ssd("a", slotted(web("p", 2000, 5)), web("q", 2000, 0).SpreadSoftly(zoneKey, 1, enginetest.Selects("slot", "0"))).
					Allocate("cpu", 4000, "pods", 110),
				node("b").Zone("1").Allocate("cpu", 80000, "pods", 110), node("c").Zone("2"),
			},
			nominated: "a p q", safe: "a p q", replacements: "p/0 to b; q/0 to c", examined: 1,
		},
		"the bound of candidates": {
			nodes: []*enginetest.Node{
				ssd("gpu", started(1, web("web", 4000, 0)), started(9, agent())), node("plain", holding("q", 4000, 100)),
			},
			options:   engine.SafeOptions{Candidates: 1},
			nominated: "gpu agent", unsafe: "agent/0 unplaced 1 " + shortAlone + "false", examined: 1, truncated: true,
		},
		"one place for two victims": {
			nodes: []*enginetest.Node{
				ssd("a", web("p", 3000, 1), web("q", 3000, 0), holding("z", 2000, 100)), node("b", holding("r", 4000, 100)),
			},
			nominated: "a p q", unsafe: "q/0 unplaced 1 " + short + "false", examined: 1,
		},
		"no cascade": {
			nodes: []*enginetest.Node{
				ssd("a", web("p", 6000, 5)), node("b", web("q", 5000, 1)), node("c", holding("r", 3000, 100)),
			},
			nominated: "a p", unsafe: "p/0 unplaced 1 0/3 nodes are available: 3 Insufficient cpu.false", examined: 1,
		},
		"one cascade": {
			nodes: []*enginetest.Node{
				ssd("a", web("p", 6000, 5)), node("b", web("q", 5000, 1)), node("c", holding("r", 3000, 100)),
			},
			options:   engine.SafeOptions{Cascades: 1},
			nominated: "a p", safe: "a p", replacements: "p/0 to b evicting q; q/1 to c", examined: 1,
		},
		"one cascade where two are needed": {
			nodes: []*enginetest.Node{
				ssd("a", web("p", 6000, 5)), node("b", web("q", 5000, 1)), node("c", web("r", 4000, 0), holding("t", 4000, 100)),
			},
			options:   engine.SafeOptions{Cascades: 1},
			nominated: "a p", unsafe: "q/1 unplaced 1 0/3 nodes are available: 3 Insufficient cpu.false", examined: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := enginetest.Cluster(test.nodes...)
			if !test.own {
				shareTemplates(c)
			}
			pod := preemptor().Request("cpu", 4000)
			pod.Template.Spec.NodeSelector = api.Labels{{Key: "disk", Value: "ssd"}}
			o := test.options
			o.Candidates = cmp.Or(o.Candidates, 100)
			p := filterOf(t, c, &pod.Pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{Safe: &o}}).Preemption
			text := func(of *verdict.Candidate) string {
				if of == nil {
					return ""
				}
				out := c.Nodes[of.Node].Name
				for _, v := range of.Victims {
					out += " " + v.Name
				}
				return out
			}
			if got := text(p.Nominated); got != test.nominated {
				t.Fatalf("nominated to %s", got)
			}
			s := p.Safe
			if got := text(s.Candidate); got != test.safe {
				t.Errorf("safe is %q, not %q", got, test.safe)
			}
			if got := replacementsText(c, s.Replacements); got != test.replacements {
				t.Errorf("replacements %q, not %q", got, test.replacements)
			}
			if got := replacementsText(c, s.Unsafe); got != test.unsafe {
				t.Errorf("unsafe %q, not %q", got, test.unsafe)
			}
			if s.Examined != test.examined || s.Truncated != test.truncated || s.InVain != "" {
				t.Errorf("%d examined, truncated %t, %q", s.Examined, s.Truncated, s.InVain)
			}
		})
	}
}

// trialOf is the outcome for the victims of a candidate, on clusters that are compiled for every pod that comes back: the
// text of those without a node, and the nodes of the others.
func trialOf(
	t *testing.T, c *api.Cluster, pod *api.Pod, removable []onNode, candidate *verdict.Candidate,
) (unplaced, placed []string) {
	t.Helper()
	gone := goneOf(t, c, removable, candidate)
	now := withoutAll(c, gone)
	put := func(pod api.Pod, node uint32) {
		next := *now
		next.Nodes = slices.Clone(next.Nodes)
		n := &next.Nodes[node]
		pod.NominatedNode = ""
		n.Pods = append(slices.Clone(n.Pods), pod)
		n.Nominated = slices.DeleteFunc(slices.Clone(n.Nominated), func(p api.Pod) bool {
			return p.Name == pod.Name && p.Template.Namespace == pod.Template.Namespace
		})
		now = &next
	}
	put(*pod, candidate.Node)
	for i := range now.Nodes {
		nominated := slices.DeleteFunc(slices.Clone(now.Nodes[i].Nominated), func(p api.Pod) bool {
			return p.Name == pod.Name && p.Template.Namespace == pod.Template.Namespace
		})
		now.Nodes[i].Nominated = nominated
	}
	slices.SortStableFunc(gone, func(a, b onNode) int {
		return cmp.Or(cmp.Compare(b.pod.Template.Spec.Priority, a.pod.Template.Spec.Priority), cmp.Compare(a.start(), b.start()),
			cmp.Compare(a.order, b.order))
	})
	for i, v := range gone {
		kind := v.pod.Template.Controller.Kind
		if kind == api.NoWorkload || v.pod.Terminating {
			continue
		}
		back := api.Pod{Template: v.pod.Template, TemplateIndex: v.pod.TemplateIndex, Labels: v.pod.Labels}
		o := engine.PlaceOptions{Profile: api.Kube137()}
		if kind == api.DaemonSet {
			o.Candidates = []uint32{uint32(v.node)}
		}
		result, err := compiled(t, now).Place(t.Context(), []engine.Pending{{Pod: back, Count: 1}}, o)
		if err != nil {
			t.Fatal(err)
		}
		if p := &result.Placements[0]; p.Unplaced > 0 {
			unplaced = append(unplaced, v.text()+": "+p.Message)
		} else {
			placed = append(placed, fmt.Sprint(v.text(), " to ", p.Nodes[0]))
			back.Name = fmt.Sprint("back-", i)
			put(back, p.Nodes[0])
		}
	}
	return unplaced, placed
}

// TestSafeEqualsTrials compares safe preemption with trials of every candidate.
func TestSafeEqualsTrials(t *testing.T) {
	kinds := []api.WorkloadKind{api.NoWorkload, api.ReplicaSet, api.StatefulSet, api.DaemonSet, api.OtherController}
	first, other, none, same := 0, 0, 0, 0
	for seed := range uint64(cases(4000)) {
		rng := rand.New(rand.NewPCG(seed, 97))
		stated, pods := enginetest.Random(rng)
		enginetest.RandomVictims(rng, stated, pods)
		for i := range stated.Nodes {
			n := &stated.Nodes[i]
			n.PodCounts = nil // one text for several pods
			for j := range n.Pods {
				own := *n.Pods[j].Template
				own.Controller.Kind = kinds[rng.IntN(len(kinds))]
				n.Pods[j].Template = &own
				n.Pods[j].ResourceStatus = nil
				labelOneself(rng, &n.Pods[j])
			}
		}
		shareTemplates(stated)
		for i := range pods {
			pod := &pods[i]
			f := filterOf(t, stated, pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{
				All: true, RecountSpread: true, Safe: &engine.SafeOptions{Candidates: 1000},
			}})
			if f.Preemption == nil || f.Preemption.Nominated == nil || !comparableWith(stated, pod) {
				continue
			}
			removable, s := removableOf(stated, pod), f.Preemption.Safe
			if s.Truncated || s.InVain != "" {
				t.Fatalf("seed %d, pod %d: %+v", seed, i, s)
			}
			texts := func(of []verdict.Replacement) (out []string) {
				for _, r := range of {
					if r.Unplaced > 0 {
						out = append(out, r.Pod.Name+": "+r.Message)
					} else {
						out = append(out, fmt.Sprint(r.Pod.Name, " to ", r.Nodes[0]))
					}
				}
				return out
			}
			unplaced, placed := trialOf(t, stated, pod, removable, f.Preemption.Nominated)
			if diff := gocmp.Diff(unplaced, texts(s.Unsafe)); diff != "" {
				t.Fatalf("seed %d, pod %d, of the nominated candidate (-trial +now):\n%s", seed, i, diff)
			}
			if len(unplaced) == 0 {
				first++
				if diff := gocmp.Diff(placed, texts(s.Replacements)); diff != "" || gocmp.Diff(s.Candidate, f.Preemption.Nominated) != "" {
					t.Fatalf("seed %d, pod %d (-trial +now):\n%s", seed, i, diff)
				}
				continue
			}
			if s.Candidate != nil {
				other++
				if s.Candidate.Node == f.Preemption.Nominated.Node {
					same++
				}
				left, placed := trialOf(t, stated, pod, removable, s.Candidate)
				if diff := gocmp.Diff(placed, texts(s.Replacements)); len(left) > 0 || diff != "" {
					t.Fatalf("seed %d, pod %d: %q have no node (-trial +now):\n%s", seed, i, left, diff)
				}
				continue
			}
			none++
			for j := range f.Preemption.Candidates {
				if left, _ := trialOf(t, stated, pod, removable, &f.Preemption.Candidates[j]); len(left) == 0 {
					t.Fatalf("seed %d, pod %d: %+v is safe", seed, i, f.Preemption.Candidates[j])
				}
			}
		}
	}
	t.Logf("the first is safe: %d, another one: %d (%d of the same node), none: %d", first, other, same, none)
	if allCases() && min(first, other, same, none) == 0 {
		t.Error("some outcome never occurs")
	}
}

// looks counts the calls of Err.
type looks struct {
	context.Context
	calls int
}

func (c *looks) Err() error {
	c.calls++
	return c.Context.Err()
}

// The context is looked at for each victim that comes back or may do so, and for no other.
func TestSafePreemptionEnds(t *testing.T) {
	const pods = 300
	calls := func(kind api.WorkloadKind, safe bool) int {
		n := enginetest.MakeNode("n").Allocate("cpu", pods, "pods", 2*pods)
		for i := range pods {
			n.Run(controlledBy(kind, holding(fmt.Sprint(i), 1, 0)))
		}
		stated := enginetest.Cluster(n)
		if kind == api.NoWorkload {
			shareTemplates(stated)
		}
		o := engine.FilterOptions{Profile: api.Kube137(), Preempt: &engine.PreemptOptions{}}
		if safe {
			o.Preempt.Safe = &engine.SafeOptions{Candidates: 1}
		}
		ctx := &looks{Context: t.Context()}
		f, err := compiled(t, stated).Filter(ctx, &preemptor().Request("cpu", pods).Pod, o)
		if err != nil || len(f.Preemption.Nominated.Victims) != pods {
			t.Fatal(err, f.Preemption)
		}
		return ctx.calls
	}
	if more := calls(api.ReplicaSet, true) - calls(api.ReplicaSet, false); more < pods {
		t.Errorf("%d looks for %d victims whose replacements are unknown", more, pods)
	}
	if more := calls(api.NoWorkload, true) - calls(api.NoWorkload, false); more >= pods {
		t.Errorf("%d looks for %d victims that do not come back", more, pods)
	}
}
