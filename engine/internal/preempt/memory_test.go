package preempt

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/registry"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestMemoryHoldsUntilSomethingChanges: what it says of a node counts until the node is forgotten, or until what a rule counts in
// the node's domain changes.
func TestMemoryHoldsUntilSomethingChanges(t *testing.T) {
	const nodes, zone = 4, "topology.kubernetes.io/zone"
	x := enginetest.Selects("app", "x")
	for name, test := range map[string]struct {
		rule    func(*enginetest.Pod)
		forgets []bool // by node, once a pod that the rule counts is on the last node, which is forgotten
	}{
		"no rule":       {func(*enginetest.Pod) {}, []bool{false, false, false, true}},
		"anti-affinity": {func(p *enginetest.Pod) { p.AntiAffinity(zone, x) }, []bool{false, true, false, true}},
		"affinity":      {func(p *enginetest.Pod) { p.Affinity(zone, x) }, []bool{false, true, false, true}},
		"own affinity":  {func(p *enginetest.Pod) { p.Label("app", "x").Affinity(zone, x) }, []bool{true, true, true, true}},
		// One domain then has the minimum.
		"spread": {func(p *enginetest.Pod) { p.Spread(zone, 9, x) }, []bool{true, true, true, true}},
	} {
		stated := enginetest.Cluster()
		for i := range nodes {
			n := enginetest.MakeNode(fmt.Sprint("n", i)).Allocate("cpu", 1000, "pods", 10).Zone(fmt.Sprint("z", i%2))
			n.Run(enginetest.MakePod(fmt.Sprint("victim-", i)).Request("cpu", 1000).Priority(int32(i)))
			n.Run(enginetest.MakePod(fmt.Sprint("dear-", i)).Label("app", "x").Priority(100))
			stated.Nodes = append(stated.Nodes, n.Node)
		}
		c, err := cluster.Compile(t.Context(), stated)
		if err != nil {
			t.Fatal(err)
		}
		state := cluster.NewState(t.Context(), c)
		pod := enginetest.MakePod("x").Request("cpu", 500).Priority(10)
		test.rule(pod)
		d := decide.New(decide.NewFramework(api.Kube137(), registry.Plugins), state, state.Compile(&pod.Pod))
		var m Memory
		search := func() *verdict.Preemption {
			t.Helper()
			all := nodeset.Full(nodes)
			// The code of the rejection by anti-affinity is the one that lets preemption look at all nodes.
			rejections := []verdict.Rejection{{Code: verdict.Unschedulable, Nodes: all.Indexes()}}
			p, victims, err := FindVictims(t.Context(), d, all, rejections, Options{Memory: &m})
			if err != nil || (p.Nominated != nil) != (len(victims) > 0) {
				t.Fatalf("%s: victims %v, %v", name, victims, err)
			}
			return p
		}
		first, again := search(), search()
		if (first.Nominated == nil) != (name == "anti-affinity") || first.Message != again.Message {
			t.Errorf("%s: %+v, then %+v", name, first, again)
		}
		// A wrong memory shows whether it is read.
		wrong := ownRejection(verdict.ReasonPreemptionNotHelpful)
		for n := range m.found {
			if !m.found[n].known {
				t.Errorf("%s: nothing is known of node %d", name, n)
			}
			m.found[n] = remembered{known: true, rejection: &wrong}
		}
		if p := search(); p.Nominated != nil || len(p.Rejections) != 1 || len(p.Rejections[0].Nodes) != nodes {
			t.Errorf("%s: with a wrong memory: %+v", name, p)
		}
		other := state.Compile(&enginetest.MakePod("other").Label("app", "x").Priority(100).Pod)
		state.Assume(other, "other", nodes-1, 0)
		m.Forget(nodes - 1)
		search()
		for n, forgets := range test.forgets {
			if forgot := m.found[n].rejection != &wrong; forgot != forgets {
				t.Errorf("%s: node %d is forgotten: %t", name, n, forgot)
			}
		}
	}
}

// TestMemorySharesRejections: of equal ones it keeps one, and of different ones a limited number.
func TestMemorySharesRejections(t *testing.T) {
	var m Memory
	of := func(i int, node uint32) *verdict.Rejection {
		return &verdict.Rejection{
			Plugin: verdict.NodeResourcesFit, Code: verdict.Unschedulable, Nodes: []uint32{node},
			Reasons: []verdict.Reason{verdict.InsufficientResource(fmt.Sprint("example.com/", i))},
		}
	}
	for i := range maxRejections {
		first, again := m.shared(of(i, 1)), m.shared(of(i, 2))
		if first == nil || first != again || first.Nodes != nil || len(m.rejections) != i+1 {
			t.Fatalf("rejection %d: %v, then %v of %d", i, first, again, len(m.rejections))
		}
	}
	before := m.Bytes()
	if m.shared(of(maxRejections, 1)) != nil || m.shared(of(0, 3)) == nil || m.Bytes() != before || before == 0 {
		t.Errorf("beyond the limit: %d rejections, %d bytes", len(m.rejections), m.Bytes())
	}
	if m.ForgetAll(); m.Bytes() != 0 || m.shared(of(maxRejections, 1)) == nil {
		t.Error("a memory that is forgotten is full")
	}
}
