package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestPreemptionOfManyBudgets lets counted pods use up budgets. Each allows fewer of them than the one before it.
func TestPreemptionOfManyBudgets(t *testing.T) {
	const budgets, pods = 20_000, 1 << 30
	node := enginetest.MakeNode("n").Allocate("cpu", pods, "pods", math.MaxInt32)
	node.PodCounts = []api.PodCount{{Count: pods}}
	stated := enginetest.Cluster(node)
	stated.Templates = []*api.PodTemplate{enginetest.MakePod("").Label("app", "a").Request("cpu", 1).Template}
	for i := range budgets {
		stated.Budgets = append(stated.Budgets, budget(fmt.Sprint(i), enginetest.Selects("app", "a"), int32(budgets-i)))
	}
	pod := enginetest.MakePod("x").Request("cpu", 10).Priority(1)
	for _, test := range []struct {
		last       int32
		violations int
	}{{1, 9}, {4, 8}, {0, 10}, {-1, 10}, {math.MinInt32, 8}} {
		stated.Budgets[budgets-1].DisruptionsAllowed = test.last
		best := filterOf(t, stated, &pod.Pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{}}).Preemption.Nominated
		if best == nil || best.Violations != test.violations || best.Victims[0].Count != 10 {
			t.Errorf("%+v, want %d violations", best, test.violations)
		}
	}
}

// TestPreemptionOfWidePod lets a pod ask for more resources, and victims be of more templates, than numbers of all are kept.
func TestPreemptionOfWidePod(t *testing.T) {
	resources, pods := cases(20_000), 450
	var nodes []*enginetest.Node
	for i := range 2 {
		n := enginetest.MakeNode(fmt.Sprint("n", i)).Allocate("cpu", pods, "pods", 1000)
		for r := range resources {
			n.Allocatable = append(n.Allocatable, api.Quantity{Resource: fmt.Sprintf("example.com/%05d", r), Amount: 1})
		}
		for j := range pods {
			victim := enginetest.MakePod(fmt.Sprint("v-", i, "-", j)).Label("app", fmt.Sprint(j)).Request("cpu", 1)
			n.Run(victim.Priority(int32(j * (2 - i) % 7)))
		}
		nodes = append(nodes, n)
	}
	stated := enginetest.Cluster(nodes...)
	pod := enginetest.MakePod("x").Request("cpu", 70).Priority(10)
	ask := func() any {
		return filterOf(t, stated, &pod.Pod, engine.FilterOptions{Preempt: &engine.PreemptOptions{All: true}}).Preemption
	}
	want := ask()
	for _, r := range nodes[0].Allocatable[2:] {
		r.Amount = 1
		pod.Template.Spec.Containers[0].Requests = append(pod.Template.Spec.Containers[0].Requests, r)
	}
	if diff := gocmp.Diff(want, ask()); diff != "" {
		t.Errorf("-narrow +wide:\n%s", diff)
	}
}

// TestBudgetsAreNotKept changes the caller's budgets after the cluster is compiled, or changed.
func TestBudgetsAreNotKept(t *testing.T) {
	stated := enginetest.Cluster(roomy("n1", holding("a", 2000, 1)))
	pod := preemptor()
	budgets := func() []api.PodDisruptionBudget {
		b := budget("b", enginetest.Selects("app", "a"), 0)
		b.Disrupted = []string{"other"}
		return []api.PodDisruptionBudget{b}
	}
	spoil := func(b []api.PodDisruptionBudget) {
		b[0].Disrupted[0], b[0].Selector.MatchLabels[0].Value, b[0].DisruptionsAllowed = "a", "b", 1
	}
	stated.Budgets = budgets()
	c := compiled(t, stated)
	spoil(stated.Budgets)
	change := &api.Delta{Budgets: budgets()}
	changed, err := c.With(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	spoil(change.Budgets)
	for name, c := range map[string]*engine.Cluster{"compiled": c, "changed": changed} {
		f, err := c.Filter(t.Context(), &pod.Pod, engine.FilterOptions{Profile: api.Kube137(), Preempt: &engine.PreemptOptions{}})
		if err != nil {
			t.Fatal(err)
		}
		if best := f.Preemption.Nominated; best == nil || best.Violations != 1 {
			t.Errorf("%s: %+v, want a violation", name, best)
		}
	}
}

// TestPreemptionAmong150000Victims: what a search allocates does not grow with the pods that it looks at, but with what it lists, and
// it looks at the deadline often enough: whenever that comes, it ends at the next look.
func TestPreemptionAmong150000Victims(t *testing.T) {
	if testing.Short() || raced.Detector {
		t.Skip("compiles 150,000 pods")
	}
	const nodes, each = 5000, 30
	c := compiled(t, fullCluster(nodes, true))
	pod := enginetest.MakePod("p").Label("app", "app-3").Request("cpu", 7500).Priority(10) // all of a node
	for _, test := range []struct {
		name string
		o    engine.PreemptOptions
		most uint64
	}{{"nominated", engine.PreemptOptions{}, 16 << 20}, {"all candidates", engine.PreemptOptions{All: true}, 64 << 20}} {
		t.Run(test.name, func(t *testing.T) {
			o := engine.FilterOptions{Profile: api.Kube137(), Preempt: &test.o}
			ask := func(ctx context.Context) (*verdict.Filter, error) { return c.Filter(ctx, &pod.Pod, o) }
			counting := &looks{Context: t.Context()}
			if _, err := ask(counting); err != nil { // also fills what the cluster keeps
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f, err := ask(t.Context())
			runtime.ReadMemStats(&after)
			if err != nil || f.Preemption.Nominated == nil || len(f.Preemption.Nominated.Victims) != each {
				t.Fatalf("%v, %+v", err, f.Preemption)
			}
			if test.o.All && len(f.Preemption.Candidates) != nodes {
				t.Errorf("%d candidates", len(f.Preemption.Candidates))
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > test.most {
				t.Errorf("allocates %d bytes, at most %d are expected", allocated, test.most)
			} else {
				t.Logf("allocates %d KiB, looks at the deadline %d times", allocated>>10, counting.calls)
			}
			if counting.calls < nodes/16 {
				t.Errorf("%d looks at the deadline for %d nodes", counting.calls, nodes)
			}
			for _, at := range []int{0, 1, counting.calls / 2, counting.calls - 2} {
				end := &ending{t.Context(), at}
				if _, err := ask(end); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %d of %d looks: %v", at, counting.calls, err)
				}
			}
		})
	}
}
