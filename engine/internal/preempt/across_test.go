package preempt

import (
	"context"
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
)

// counting counts the calls of Err.
type counting struct {
	context.Context
	calls int
}

func (c *counting) Err() error {
	c.calls++
	return c.Context.Err()
}

// acrossOne returns the search on a node full of pods that budgets select. The first budget counts pod 0 as evicted already.
func acrossOne(t *testing.T, ctx context.Context, pods, budgets int) *across { //nolint:revive // the test comes first
	t.Helper()
	n := enginetest.MakeNode("n").Allocate("cpu", 10*pods, "pods", 2*pods)
	for i := range pods {
		n.Run(enginetest.MakePod(fmt.Sprint(i)).Label("app", "a").Request("cpu", 10))
	}
	stated := enginetest.Cluster(n)
	for i := range budgets {
		stated.Budgets = append(stated.Budgets, api.PodDisruptionBudget{
			Namespace: "default", Name: fmt.Sprint(i), Selector: enginetest.Selects("app", "a"),
		})
	}
	stated.Budgets[0].Disrupted = []string{"0"}
	c, err := cluster.Compile(t.Context(), stated)
	if err != nil {
		t.Fatal(err)
	}
	state := cluster.NewState(t.Context(), c)
	pod := enginetest.MakePod("x").Request("cpu", 10).Priority(1)
	d := decide.New(decide.NewFramework(api.Kube137(), registry.Plugins), state, state.Compile(&pod.Pod))
	return newAcross(ctx, d, nodeset.Full(c.Len()), 1000)
}

func TestVictimsShareBudgets(t *testing.T) {
	a := acrossOne(t, t.Context(), 3, 2)
	if err := a.findOnNode(); err != nil {
		t.Fatal(err)
	}
	byName := make(map[string][]int32)
	for i := range a.items {
		byName[a.State.VictimName(0, &a.items[i].Victim)] = a.items[i].budgets
	}
	if of := byName["0"]; len(of) != 1 || of[0] != 1 {
		t.Errorf("pod 0 uses the budgets %v", of)
	}
	if x, y := byName["1"], byName["2"]; len(x) != 2 || len(y) != 2 || &x[0] != &y[0] || a.kept != 3 {
		t.Errorf("%v and %v, %d numbers are kept", x, y, a.kept)
	}
}

func TestTooManyBudgetsAcrossNodes(t *testing.T) {
	for before, proven := range map[int]bool{maxKept - 3: true, maxKept - 2: false} {
		a := acrossOne(t, t.Context(), 3, 2)
		a.kept = before
		got, err := a.search(nodeset.Full(1))
		if err != nil || got.Proven != proven || (got.Candidate != nil) != proven {
			t.Errorf("%d numbers kept before: %+v, %v", before, got, err)
		}
	}
}

// The context is looked at by the number of budgets that the pods of a node use.
func TestBudgetsAcrossNodesEnd(t *testing.T) {
	ctx := &counting{Context: t.Context()}
	a := acrossOne(t, ctx, 100, 200)
	if err := a.findOnNode(); err != nil || ctx.calls < 2*100*200/2048 {
		t.Errorf("%d looks at the context, %v", ctx.calls, err)
	}
	ctx.calls = 0
	if _, err := a.worth(demand{items: a.local, least: 1}); err != nil || ctx.calls < 100*200/2048 {
		t.Errorf("%d looks at the context, %v", ctx.calls, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := acrossOne(t, ended, 100, 200).findOnNode(); err == nil {
		t.Error("no error of a context that ended")
	}
}
