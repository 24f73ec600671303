package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// manyTerms returns a pod with many anti-affinity terms by hostname, and nodes with pods that match all of them.
func manyTerms(t *testing.T, nodes, terms int) (*engine.Cluster, *api.Pod) {
	t.Helper()
	var all []*enginetest.Node
	for i := range nodes {
		all = append(all, enginetest.MakeNode(fmt.Sprint("n", i)).Run(enginetest.MakePod("a"), enginetest.MakePod("b")))
	}
	pod := enginetest.MakePod("p")
	for range terms {
		pod.AntiAffinity(hostname, &api.LabelSelector{})
	}
	return compile(t, all...), &pod.Pod
}

func TestExplanationIsBounded(t *testing.T) {
	cost := func(e *verdict.Explanation) int {
		n := 0
		for _, counts := range e.Topology {
			for _, d := range counts.Domains {
				n += verdict.EntryCost*(1+len(d.Conflicting)) + len(d.Nodes)
			}
		}
		return n
	}
	o := engine.FilterOptions{Profile: api.Kube137(), Explain: true}
	c, pod := manyTerms(t, 200, 10)
	whole, err := c.Filter(context.Background(), pod, o)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Explanation.Truncated || len(whole.Explanation.Topology) != 10 {
		t.Errorf("%d rules, truncated: %v", len(whole.Explanation.Topology), whole.Explanation.Truncated)
	}
	c, pod = manyTerms(t, 500, 1000)
	cut, err := c.Filter(context.Background(), pod, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := cost(cut.Explanation); !cut.Explanation.Truncated || n > verdict.MaxExplained || n < verdict.MaxExplained/2 {
		t.Errorf("explained %d, truncated: %v", n, cut.Explanation.Truncated)
	}

	// The budget is shared by all entries of a queue. The placements stay complete.
	queue := make([]engine.Pending, 3)
	for i := range queue {
		queue[i] = engine.Pending{Pod: *pod, Count: 1}
	}
	placed, err := c.Place(context.Background(), queue, engine.PlaceOptions{Profile: api.Kube137(), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i, p := range placed.Placements {
		total += cost(p.Explanation)
		if p.Message == "" || !p.Explanation.Truncated {
			t.Errorf("entry %d: message %q, truncated: %v", i, p.Message, p.Explanation.Truncated)
		}
	}
	if total > verdict.MaxExplained {
		t.Errorf("explained %d", total)
	}
}

func TestPortConflictsNameTheHolder(t *testing.T) {
	c := compile(t,
		enginetest.MakeNode("a").Run(enginetest.MakePod("other").HostPort(80), enginetest.MakePod("holder").HostPort(443)),
		enginetest.MakeNode("b").Run(enginetest.MakePod("innocent").HostPort(80)),
		enginetest.MakeNode("c").Run(enginetest.MakePod("again").HostPort(443), enginetest.MakePod("none")),
	)
	pod := enginetest.MakePod("p").HostPort(8080).HostPort(443)
	got, err := c.Filter(context.Background(), &pod.Pod, engine.FilterOptions{Profile: api.Kube137(), Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []verdict.HostPortConflict{
		{Node: 0, Port: 443, Holder: verdict.PodReference{Namespace: "default", Name: "holder", Node: 0, Count: 1, Template: -1, Queue: -1}},
		{Node: 2, Port: 443, Holder: verdict.PodReference{Namespace: "default", Name: "again", Node: 2, Count: 1, Template: -1, Queue: -1}},
	}
	if diff := cmp.Diff(want, got.Explanation.PortConflicts); diff != "" {
		t.Error(diff)
	}
}

// countdown is a context that ends after a number of calls of Err.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestEndsAnywhere ends a decision at each check of the context, and verifies that no partial result is kept.
func TestEndsAnywhere(t *testing.T) {
	c, pod := manyTerms(t, 5, 3)
	fresh, _ := manyTerms(t, 5, 3)
	o := engine.FilterOptions{Profile: api.Kube137(), Explain: true}
	want, err := fresh.Filter(context.Background(), pod, o)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	for {
		_, err := c.Filter(&countdown{Context: context.Background(), left: looks}, pod, o)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		looks++
	}
	if looks < 20 {
		t.Errorf("the decision looked whether it should end only %d times", looks)
	}
	got, err := c.Filter(context.Background(), pod, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after decisions that ended early (-fresh +now):\n%s", diff)
	}
}

// TestEndsWithoutAnAnswer ends decisions at each check of the context. The result is the error or the correct answer.
func TestEndsWithoutAnAnswer(t *testing.T) {
	app := enginetest.Selects("app", "web")
	c := compile(t, enginetest.MakeNode("a").Zone("a").Run(enginetest.MakePod("web").Label("app", "web")), enginetest.MakeNode("b").Zone("b"))
	pod := enginetest.MakePod("p").Affinity(zone, app).PreferAntiAffinity(1, zone, app).HostPort(80).Spread(zone, 5, app)
	queue := []engine.Pending{{Pod: pod.Pod, Count: 2}}
	o := engine.PlaceOptions{Profile: api.Kube137()}
	want, err := c.Place(context.Background(), queue, o)
	if err != nil || len(want.Placements[0].Nodes) != 1 || want.Placements[0].Unplaced != 1 {
		t.Fatalf("%v %+v", err, want)
	}
	for looks := 0; ; looks++ {
		got, err := c.Place(&countdown{Context: context.Background(), left: looks}, queue, o)
		if errors.Is(err, context.Canceled) {
			continue
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("ended at look %d: %v (-want +got):\n%s", looks, err, diff)
		}
		return
	}
}
