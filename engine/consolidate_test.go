package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// consolidateCase is a random case that is small enough to try all sequences.
type consolidateCase struct {
	stated  *api.Cluster
	options engine.ConsolidateOptions
}

func randomConsolidation(seed uint64) *consolidateCase {
	rng := rand.New(rand.NewPCG(seed, 17))
	stated, drain := randomDrain(rng)
	nodes := 2 + rng.IntN(2)
	if rng.IntN(8) == 0 {
		nodes = 4
	}
	stated.Nodes = stated.Nodes[:min(len(stated.Nodes), nodes)]
	for i := range stated.Nodes { // so that some nodes can be drained
		n := &stated.Nodes[i]
		n.Pods, n.PodCounts = n.Pods[:min(len(n.Pods), rng.IntN(3))], n.PodCounts[:min(len(n.PodCounts), rng.IntN(3))]
	}
	c := &consolidateCase{stated: stated, options: engine.ConsolidateOptions{
		Profile: api.Kube137(), Seed: drain.Seed, FewestPods: drain.FewestPods, Terminating: drain.Terminating,
		MaxActions: 4, MaxNodes: 1 + rng.IntN(3), Steps: 1 << 22,
	}}
	if rng.IntN(6) == 0 {
		c.options.MaxActions = 1 + rng.IntN(2)
	}
	for i := range stated.Nodes {
		if rng.IntN(6) > 0 || i == 0 {
			c.options.Candidates = append(c.options.Candidates, engine.PricedNode{Node: uint32(i), Price: int64(rng.IntN(7))})
		}
	}
	dear := int64(0) // so that there is something to replace
	if rng.IntN(2) == 0 {
		dear, stated.Budgets = 4, nil
		for _, t := range stated.Templates {
			if t.Controller.Kind == api.NoWorkload || t.Controller.Kind == api.DaemonSet {
				t.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: "owner"}
			}
		}
	}
	for i := range c.options.Candidates {
		c.options.Candidates[i].Price += dear
	}
	others, _ := enginetest.Random(rng)
	for i := range rng.IntN(3) {
		t := engine.NodeTemplate{Node: others.Nodes[i], Price: 1 + int64(rng.IntN(8)), Most: 1 + rng.IntN(2) - rng.IntN(8)/7}
		if rng.IntN(2) == 0 { // like a node of the cluster
			t.Node = stated.Nodes[rng.IntN(len(stated.Nodes))]
			t.Node.Allocatable = enginetest.Resources(
				"cpu", 500+500*rng.IntN(4), "memory", (1<<30)*(1+rng.IntN(4)), "pods", 1+rng.IntN(5),
			)
		}
		t.Node.Name = fmt.Sprint("new", i)
		t.Node.Nominated = nil
		t.Node.Pods, t.Node.PodCounts = slices.Clone(t.Node.Pods), nil
		t.Node.Pods = slices.DeleteFunc(t.Node.Pods, func(p api.Pod) bool { // templates of the other cluster are not known here
			return p.TemplateIndex >= 0 || rng.IntN(3) > 0
		})
		for j := range t.Node.Pods {
			t.Node.Pods[j].Name = fmt.Sprint("new", i, "-", j)
		}
		if rng.IntN(6) == 0 {
			t.NameLabelKeys = []string{"disk"}
		}
		c.options.Templates = append(c.options.Templates, t)
	}
	if rng.IntN(4) == 0 {
		stated.Nodes[0].Name = "new0-0" // which a new node cannot have
	}
	if seed%4 == 3 {
		withDevices(rng, stated, nil)
	}
	return c
}

// consolidateState is a rebuilt cluster after some actions.
type consolidateState struct {
	stated  *api.Cluster
	moved   int
	number  []uint32
	counts  []int
	cost    int64
	actions int
}

func (c *consolidateCase) begin() *consolidateState {
	st := &consolidateState{stated: c.stated, counts: make([]int, len(c.options.Templates))}
	for i := range c.stated.Nodes {
		st.number = append(st.number, uint32(i))
	}
	for _, p := range c.options.Candidates {
		st.cost += p.Price
	}
	return st
}

func (c *consolidateCase) priceOf(number uint32) (int64, bool) {
	for _, p := range c.options.Candidates {
		if p.Node == number {
			return p.Price, true
		}
	}
	return 0, false
}

// left returns the candidates that are left, by their current indexes.
func (c *consolidateCase) left(st *consolidateState) (left []uint32) {
	for i, number := range st.number {
		if _, priced := c.priceOf(number); priced {
			left = append(left, uint32(i))
		}
	}
	return left
}

// name is the name of the next new node of a template, by hand.
func (c *consolidateCase) name(template, count int) string {
	for number := 0; ; number++ {
		name := fmt.Sprintf("%s-%d", c.options.Templates[template].Node.Name, number)
		if slices.ContainsFunc(c.stated.Nodes, func(n api.Node) bool { return n.Name == name }) {
			continue
		}
		if count--; count < 0 {
			return name
		}
	}
}

func (c *consolidateCase) drain(
	t testing.TB, st *consolidateState, stated *api.Cluster, nodes []uint32,
) (*referenceDrain, *verdict.Drain) {
	r := newReferenceDrain(t, stated, engine.DrainOptions{
		Profile: c.options.Profile, Seed: c.options.Seed, FewestPods: c.options.FewestPods, Terminating: c.options.Terminating,
		Moves: true, DeleteEmptyDirData: true,
	})
	r.moved = st.moved
	return r, r.drain(nodes...)
}

func cameBack(d *verdict.Drain) bool {
	return slices.ContainsFunc(d.Moves, func(m verdict.PodMove) bool {
		return slices.ContainsFunc(m.Nodes, func(n uint32) bool { return slices.Contains(d.Nodes, n) })
	})
}

// act states the cluster after an action, and reports whether it is legal. The drain has the indexes of the answer.
func (c *consolidateCase) act(
	t testing.TB, st *consolidateState, template int, nodes []uint32,
) (next *consolidateState, action verdict.ConsolidateAction, legal bool) {
	next = &consolidateState{
		counts: slices.Clone(st.counts), number: slices.Clone(st.number), cost: st.cost, actions: st.actions + 1,
	}
	stated := *st.stated
	action = verdict.ConsolidateAction{Template: template, Before: st.cost}
	for _, n := range nodes {
		price, _ := c.priceOf(st.number[n])
		next.cost -= price
	}
	if template >= 0 {
		of := &c.options.Templates[template]
		if next.cost += of.Price; st.counts[template] == of.Most {
			return nil, action, false
		}
		node := of.Node
		node.Name = c.name(template, st.counts[template])
		own := map[string]string{hostname: node.Name}
		for _, key := range of.NameLabelKeys {
			own[key] = node.Name
		}
		node.Labels = node.Labels.With(api.LabelsOf(own))
		stated.Nodes = append(slices.Clone(stated.Nodes), node)
		action.Name, action.Node = node.Name, uint32(len(c.stated.Nodes))
		for _, n := range st.counts {
			action.Node += uint32(n)
		}
		next.number = append(next.number, action.Node)
		next.counts[template]++
	}
	if action.After = next.cost; next.cost >= st.cost || len(nodes) > c.options.MaxNodes || next.actions > c.options.MaxActions {
		return nil, action, false
	}
	r, d := c.drain(t, st, &stated, nodes)
	if d.Status != verdict.Drained || cameBack(d) {
		return nil, action, false
	}
	numbered(d, next.number)
	action.Drain = d
	after := *r.stated
	after.Nodes = nil
	var number []uint32
	for i, n := range r.stated.Nodes {
		if !slices.Contains(nodes, uint32(i)) {
			after.Nodes, number = append(after.Nodes, n), append(number, next.number[i])
		} else {
			withoutNode(&after, &n)
		}
	}
	next.stated, next.number, next.moved = &after, number, r.moved
	return next, action, true
}

func numbered(d *verdict.Drain, number []uint32) {
	of := func(nodes []uint32) (out []uint32) {
		for _, n := range nodes {
			out = append(out, number[n])
		}
		return out
	}
	d.Nodes = of(d.Nodes)
	for i := range d.Moves {
		d.Moves[i].Pod.Node, d.Moves[i].Nodes = number[d.Moves[i].Pod.Node], of(d.Moves[i].Nodes)
	}
	for i := range d.Unplaced {
		d.Unplaced[i].Pod.Node = number[d.Unplaced[i].Pod.Node]
	}
	for i := range d.Blocked {
		d.Blocked[i].Pod.Node = number[d.Blocked[i].Pod.Node]
	}
}

// cheapest returns the lowest cost after any sequence of actions.
func (c *consolidateCase) cheapest(t *testing.T, st *consolidateState) int64 {
	best := st.cost
	if st.actions == c.options.MaxActions {
		return best
	}
	left := c.left(st)
	for mask := 1; mask < 1<<len(left); mask++ {
		var nodes []uint32
		for i, n := range left {
			if mask&(1<<i) != 0 {
				nodes = append(nodes, n)
			}
		}
		for template := -1; template < len(c.options.Templates); template++ {
			if next, _, legal := c.act(t, st, template, nodes); legal {
				best = min(best, c.cheapest(t, next))
			}
		}
	}
	return best
}

func (c *consolidateCase) ask(t testing.TB, o engine.ConsolidateOptions) *verdict.Consolidation {
	t.Helper()
	got, err := compiled(t, c.stated).Consolidate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// replay expects that the actions of an answer are legal, and that all their parts are as on rebuilt clusters.
func (c *consolidateCase) replay(t testing.TB, seed uint64, got *verdict.Consolidation) *consolidateState {
	t.Helper()
	st := c.begin()
	if got.Before != st.cost {
		t.Fatalf("seed %d: %d before, want %d", seed, got.Before, st.cost)
	}
	for i, action := range got.Actions {
		var nodes []uint32
		for at, number := range st.number {
			if slices.Contains(action.Drain.Nodes, number) {
				nodes = append(nodes, uint32(at))
			}
		}
		next, want, legal := c.act(t, st, action.Template, nodes)
		if !legal {
			t.Fatalf("seed %d: action %d is not legal: %+v, %+v", seed, i, action, action.Drain)
		}
		forgetUndecided(t, c.stated, action.Drain)
		if diff := gocmp.Diff(want, action); diff != "" {
			t.Fatalf("seed %d, action %d (-stated +got):\n%s", seed, i, diff)
		}
		st = next
	}
	if got.After != st.cost {
		t.Fatalf("seed %d: %d after, want %d", seed, got.After, st.cost)
	}
	return st
}

// A call without candidates has nothing to do.
func TestConsolidateNothing(t *testing.T) {
	c := randomConsolidation(1)
	c.options.Candidates = nil
	want := &verdict.Consolidation{Optimal: true, Kept: []verdict.KeptNode{}}
	got := c.ask(t, c.options)
	got.Steps = 0
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestConsolidate compares answers with all sequences of actions, and replays their actions on rebuilt clusters.
func TestConsolidate(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(cases(2000)) {
		t.Run("", func(t *testing.T) { compareConsolidation(t, seed, seen) })
	}
	t.Log(seen)
	kinds := []string{
		"0 actions", "1 actions", "2 actions", "set", "new", "new for several", "pods", "return", "price", "limit", "bound",
		"cut", "moved", "moved again",
	}
	for _, kind := range kinds {
		if allCases() && seen[kind] == 0 {
			t.Errorf("no case is %s", kind)
		}
	}
}

func compareConsolidation(t *testing.T, seed uint64, seen map[string]int) {
	c := randomConsolidation(seed)
	got := c.ask(t, c.options)
	doubts := slices.ContainsFunc(got.Actions, func(a verdict.ConsolidateAction) bool { return len(a.Drain.Doubts) > 0 })
	st := c.replay(t, seed, got)
	best := c.cheapest(t, c.begin())
	proven := got.Optimal != doubts && got.Bound == best
	if len(c.stated.Devices.Expressions) > 0 { // searches for devices may be undecided, and nothing is proven then
		proven = got.Bound <= best && (!got.Optimal || got.Bound == best && !doubts)
	}
	if !proven || got.After != best {
		t.Fatalf("seed %d: cost %d, bound %d, optimal %v, but the lowest cost is %d",
			seed, got.After, got.Bound, got.Optimal, best)
	}
	c.compareKept(t, seed, st, got, seen)
	seen[fmt.Sprint(len(got.Actions), " actions")]++
	placed := map[uint32]bool{}
	for _, a := range got.Actions {
		if len(a.Drain.Nodes) > 1 {
			seen["set"]++
		}
		if a.Template >= 0 {
			if seen["new"]++; len(a.Drain.Nodes) > 1 {
				seen["new for several"]++
			}
		}
		for _, m := range a.Drain.Moves {
			seen["moved"]++
			if placed[m.Pod.Node] && m.Pod.Name == "" {
				seen["moved again"]++
			}
		}
		for _, m := range a.Drain.Moves {
			for _, n := range m.Nodes {
				placed[n] = true
			}
		}
	}
	o := c.options
	for o.Steps = 1; o.Steps < min(got.Steps, 200); o.Steps *= 3 {
		cut := c.ask(t, o)
		c.replay(t, seed, cut)
		if cut.After < best || cut.Bound > best || cut.Optimal && cut.After != best {
			t.Fatalf("seed %d, %d steps: cost %d, bound %d, optimal %v, but the lowest cost is %d",
				seed, o.Steps, cut.After, cut.Bound, cut.Optimal, best)
		}
		if !cut.Optimal {
			seen["cut"]++
			if cut.Bound > 0 {
				seen["bound"]++
			}
		}
	}
}

// compareKept compares why candidates are left with drains of rebuilt clusters.
func (c *consolidateCase) compareKept(
	t *testing.T, seed uint64, st *consolidateState, got *verdict.Consolidation, seen map[string]int,
) {
	t.Helper()
	var want []verdict.KeptNode
	for _, n := range c.left(st) {
		_, d := c.drain(t, st, st.stated, []uint32{n})
		k := verdict.KeptNode{Drain: d, Reason: verdict.KeptByLimit}
		price, _ := c.priceOf(st.number[n])
		switch {
		case d.Status != verdict.Drained:
			k.Reason = verdict.KeptForPods
			seen["pods"]++
		case cameBack(d):
			k.Reason = verdict.KeptForReturn
			seen["return"]++
		case price == 0:
			k.Reason = verdict.KeptForPrice
			seen["price"]++
		default:
			seen["limit"]++
		}
		numbered(d, st.number)
		d.Moves = nil
		want = append(want, k)
	}
	for i := range got.Kept {
		forgetUndecided(t, c.stated, got.Kept[i].Drain)
	}
	if diff := gocmp.Diff(want, got.Kept); diff != "" && len(want)+len(got.Kept) > 0 {
		t.Fatalf("seed %d, kept (-stated +got):\n%s", seed, diff)
	}
}

// Answers do not depend on the number of goroutines.
func TestConsolidateWorkers(t *testing.T) {
	for seed := range uint64(cases(200)) {
		c := randomConsolidation(seed)
		want := c.ask(t, c.options.WithWorkers(1))
		if got := c.ask(t, c.options.WithWorkers(4)); gocmp.Diff(want, got) != "" {
			t.Fatalf("seed %d (-one +several):\n%s", seed, gocmp.Diff(want, got))
		}
	}
	c := largeConsolidation(16 + cases(8))
	want := c.ask(t, c.options.WithWorkers(1))
	if len(want.Actions) == 0 {
		t.Fatal("no actions")
	}
	for _, workers := range []int{2, 5} {
		if got := c.ask(t, c.options.WithWorkers(workers)); gocmp.Diff(want, got) != "" {
			t.Fatalf("%d goroutines (-one +several):\n%s", workers, gocmp.Diff(want, got))
		}
	}
	c.replay(t, 0, want)
}

// largeConsolidation is controlledCluster with prices, and templates of nodes of half and of twice the size.
func largeConsolidation(nodes int) *consolidateCase {
	c := &consolidateCase{stated: controlledCluster(nodes)}
	c.options = engine.ConsolidateOptions{Profile: api.Kube137(), MaxActions: nodes, MaxNodes: 4, Steps: 1 << 20}
	for i := range c.stated.Nodes {
		c.options.Candidates = append(c.options.Candidates, engine.PricedNode{Node: uint32(i), Price: 100 + int64(i%3)})
	}
	for i, price := range []int64{60, 180} {
		n := c.stated.Nodes[i]
		n.Name, n.Pods, n.PodCounts = fmt.Sprint("new", i), nil, nil
		n.Allocatable = slices.Clone(n.Allocatable)
		if n.Class != nil {
			class := *n.Class
			class.Allocatable = slices.Clone(class.Allocatable)
			n.Class = &class
			resized(class.Allocatable, i)
		}
		resized(n.Allocatable, i)
		c.options.Templates = append(c.options.Templates, engine.NodeTemplate{Node: n, Price: price, Most: nodes})
	}
	return c
}

// equalConsolidation has equal nodes with 30 small pods each, whose requests change no score.
func equalConsolidation(nodes int) *consolidateCase {
	c := largeConsolidation(nodes)
	c.stated.Budgets, c.options.Templates, c.options.MaxNodes = nil, nil, 1
	for _, p := range c.stated.Templates {
		p.Spec = api.PodSpec{Requests: enginetest.Resources("cpu", 1, "memory", 1)}
	}
	for i := range c.stated.Nodes {
		c.stated.Nodes[i].Allocatable = enginetest.Resources("cpu", 1000000, "memory", 1<<40, "pods", 1000000)
	}
	return c
}

// Pods that an action moved are moved again only if nothing else can be done.
func TestConsolidateMovesOnce(t *testing.T) {
	equal := 20 + cases(80)
	for name, c := range map[string]*consolidateCase{
		"equal": equalConsolidation(equal), "different": largeConsolidation(20 + cases(20)),
	} {
		got := c.ask(t, c.options)
		evicted := int64(0)
		for i := range got.Actions {
			evicted += int64(got.Actions[i].Drain.Evicted)
		}
		pods := compiled(t, c.stated).ConsolidatedPods(&c.options)
		if name == "equal" && len(got.Actions) != equal-1 || len(got.Actions) == 0 {
			t.Errorf("%s: %d actions", name, len(got.Actions))
		}
		t.Logf("%s: %d actions, %d evictions of %d pods, cost %d", name, len(got.Actions), evicted, pods, got.After)
		if evicted > 2*pods {
			t.Errorf("%s: %d evictions of %d pods", name, evicted, pods)
		}
	}
}

// A cluster that is derived takes a step for 16 kinds of pods, and one for 64 budgets, so that few steps derive few.
func TestConsolidateCountsKinds(t *testing.T) {
	c := &consolidateCase{stated: &api.Cluster{}, options: engine.ConsolidateOptions{
		Profile: api.Kube137(), MaxActions: 8, MaxNodes: 1, Steps: 100,
	}}
	for i := range 4096 {
		c.stated.Templates = append(c.stated.Templates, &api.PodTemplate{
			Namespace: "d", Labels: api.LabelsOf(map[string]string{"a": fmt.Sprint(i)}),
			Controller: api.ControllerReference{Kind: api.ReplicaSet, Name: fmt.Sprint("r", i)},
			Spec:       api.PodSpec{Requests: enginetest.Resources("cpu", 1)},
		})
	}
	for i := range 8 {
		n := api.Node{Name: fmt.Sprint("n", i), NodeSpec: api.NodeSpec{Allocatable: enginetest.Resources("cpu", 100000, "pods", 10000)}}
		for j := range 512 {
			n.PodCounts = append(n.PodCounts, api.PodCount{Template: 512*i + j, Count: 1})
		}
		c.stated.Nodes = append(c.stated.Nodes, n)
		c.options.Candidates = append(c.options.Candidates, engine.PricedNode{Node: uint32(i), Price: 1})
	}
	if got := c.ask(t, c.options); len(got.Actions) != 0 || got.Optimal || got.Steps != 1+(8+4096)/16 {
		t.Errorf("%d actions, optimal: %v, %d steps", len(got.Actions), got.Optimal, got.Steps)
	}
	c.options.Steps = 1 << 20
	if got := c.ask(t, c.options); len(got.Actions) != 7 {
		t.Errorf("%d actions", len(got.Actions))
	}
}

// resized halves amounts, or doubles them.
func resized(r api.Resources, double int) {
	for i := range r {
		r[i].Amount = r[i].Amount / 2 << (2 * double)
	}
}

// A context that ends at any moment ends the call: with an error, or with a legal part of the actions.
func TestConsolidateEnds(t *testing.T) {
	c := randomConsolidation(0)
	for seed := uint64(1); len(c.ask(t, c.options).Actions) < 2; seed++ {
		c = randomConsolidation(seed)
	}
	full := c.ask(t, c.options)
	cluster, partial := compiled(t, c.stated), 0
	for after := range 400 {
		for _, allowed := range []bool{false, true} {
			o := c.options.WithWorkers(1)
			o.Partial = allowed
			ctx := &deadlineContext{endingContext{Context: t.Context(), left: after}}
			got, err := cluster.Consolidate(ctx, o)
			switch {
			case err == nil && got.Partial:
				partial++
				if !allowed || got.Kept != nil || got.After < full.After || got.Bound > full.After {
					t.Fatalf("after %d: %+v", after, got)
				}
				c.replay(t, 0, got)
			case err == nil:
				if diff := gocmp.Diff(full, got); diff != "" {
					t.Fatalf("after %d:\n%s", after, diff)
				}
			case !errors.Is(err, context.DeadlineExceeded) || allowed:
				t.Fatalf("after %d: %v", after, err)
			}
		}
	}
	if partial == 0 {
		t.Error("no answer is partial")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := c.options
	o.Partial = true
	if _, err := cluster.Consolidate(ctx, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// deadlineContext is an endingContext whose deadline came.
type deadlineContext struct{ endingContext }

func (c *deadlineContext) Err() error {
	if c.endingContext.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// BenchmarkConsolidate looks at 1,000 candidates, of a cluster with 30,000 pods: for one action, and then why each of the
// others is left; and for as many actions as there are, which are some hundred times as many clusters. Of each answer the
// first action is replayed on a rebuilt cluster, and in the first case a sample of the other candidates is
// compared with drains there.
func BenchmarkConsolidate(b *testing.B) {
	for _, actions := range []int{1, 1000} {
		for _, templates := range []int{0, 2} {
			b.Run(fmt.Sprintf("nodes=1000/actions=%d/templates=%d", actions, templates), func(b *testing.B) {
				c := largeConsolidation(1000)
				c.options.MaxActions, c.options.MaxNodes = actions, 1
				c.options.Templates = c.options.Templates[:templates]
				cluster := compiled(b, c.stated)
				for b.Loop() {
					got, err := cluster.Consolidate(b.Context(), c.options)
					if err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					c.sample(b, got)
					b.ReportMetric(float64(len(got.Actions)), "actions")
					b.ReportMetric(float64(got.After)/float64(max(1, got.Bound)), "cost/bound")
					b.ReportMetric(float64(got.Steps), "steps")
					b.StartTimer()
				}
			})
		}
	}
}

// sample compares a part of an answer with rebuilt clusters.
func (c *consolidateCase) sample(b *testing.B, got *verdict.Consolidation) {
	b.Helper()
	first := *got
	first.Actions, first.After = got.Actions[:1:1], got.Actions[0].After
	st := c.replay(b, 0, &first)
	if len(got.Actions) > 1 {
		return
	}
	came := map[uint32]bool{}
	for _, m := range got.Actions[0].Drain.Moves {
		for _, n := range m.Nodes {
			came[n] = true
		}
	}
	o := engine.DrainOptions{Profile: c.options.Profile, Scan: true, DeleteEmptyDirData: true}
	var want, kept []*verdict.Drain
	for i, k := range got.Kept {
		if i%50 == 0 && !came[k.Drain.Nodes[0]] {
			kept = append(kept, k.Drain)
			o.Nodes = append(o.Nodes, uint32(slices.Index(st.number, k.Drain.Nodes[0])))
		}
	}
	want, _ = drains(b, compiled(b, st.stated), o)
	for _, d := range want {
		numbered(d, st.number)
	}
	if diff := gocmp.Diff(want, kept); diff != "" || len(kept) == 0 {
		b.Fatalf("kept (-stated +got):\n%s", diff)
	}
}
