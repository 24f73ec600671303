package compare

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// runDrain compares the drains of a case's nodes. The order of the largest set is Stowage's own; each of its drains is compared.
func runDrain(ctx context.Context, c *scenario.Case, stowage conformance.Service) (*Result, error) {
	simulation, ok := stowage.(conformance.Simulation)
	if !ok {
		return nil, errors.New("the service answers no Drain")
	}
	if len(c.Queue) > 0 {
		return nil, errors.New("the case drains nodes and has a queue")
	}
	s, err := oracle.New(c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := &Result{}
	for _, form := range Forms {
		if form.CountPods && c.Whole {
			continue
		}
		place, err := PlaceRequest(c, s, Form{Stored: form.Stored})
		if err != nil {
			r.Differences = []conformance.Difference{{Kind: "clients/kube fails", Text: err.Error()}}
			return r, nil
		}
		d := newDrains(c, place, form)
		if form == (Form{Stored: true}) {
			d.want = r.Drains // as in manifests
		}
		r.Differences, err = d.compare(ctx, simulation)
		if err != nil {
			return nil, err
		}
		r.Drains = d.want
		if len(r.Differences) > 0 {
			if form != Forms[0] {
				for i := range r.Differences {
					r.Differences[i].Kind += ", given " + form.String()
				}
			}
			break
		}
	}
	return r, nil
}

// drains is a case as a DrainRequest, and kube-scheduler's answers.
type drains struct {
	c       *scenario.Case
	request *stowagev1.DrainRequest
	*question
	drainer *expect.Drainer
	want    []*stowagev1.NodeDrain
}

func newDrains(c *scenario.Case, place *stowagev1.PlaceRequest, form Form) *drains {
	q := &question{cluster: place.Context.GetCluster(), counted: map[string]*stowagev1.PodCount{}}
	templates := map[string]uint32{}
	for _, n := range q.cluster.Nodes {
		for _, p := range n.Pods {
			if of, ok := p.Source.(*stowagev1.Pod_TemplateIndex); ok {
				templates[q.cluster.PodTemplates[of.TemplateIndex].Namespace+"/"+p.Name] = of.TemplateIndex
			}
		}
		if form.CountPods {
			q.count(n)
		}
	}
	d := &drains{c: c, question: q, drainer: expect.NewDrainer(c, q.kindOf, templates)}
	d.request = &stowagev1.DrainRequest{
		Context: place.Context, TieBreakSeed: c.TieBreakSeed, QueueMode: stowagev1.QueueMode_QUEUE_MODE_IN_ORDER,
		IgnoreBudgets: c.Drain.IgnoreBudgets, Force: c.Drain.Force, IncludeMoves: true,
	}
	switch c.Drain.Mode {
	case scenario.Together:
		d.request.Mode = stowagev1.DrainMode_DRAIN_MODE_TOGETHER
	case scenario.LargestSet:
		d.request.Mode = stowagev1.DrainMode_DRAIN_MODE_LARGEST_SET
	default:
		d.request.Mode = stowagev1.DrainMode_DRAIN_MODE_EACH
	}
	if c.Whole {
		d.request.QueueMode = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
	}
	if c.Drain.Terminating {
		d.request.EvictedPods = stowagev1.EvictedPods_EVICTED_PODS_TERMINATING
	}
	if c.Drain.Nodes != nil {
		d.request.Nodes = &stowagev1.CandidateNodes{Names: c.Drain.Nodes}
	}
	if c.Drain.Targets != nil {
		d.request.TargetNodes = &stowagev1.CandidateNodes{Names: c.Drain.Targets}
	}
	if c.Drain.Steps > 0 {
		d.request.MaxSteps = new(uint32(c.Drain.Steps))
	}
	return d
}

// compare calls Stowage and compares its answers. An error means that kube-scheduler has none.
func (d *drains) compare(ctx context.Context, stowage conformance.Simulation) ([]conformance.Difference, error) {
	got, differences := d.ask(ctx, stowage)
	if differences != nil {
		return differences, nil
	}
	if d.c.Drain.Mode == scenario.LargestSet {
		return d.largest(got)
	}
	if d.want == nil {
		if err := d.expect(); err != nil {
			return nil, err
		}
	}
	if len(got) != len(d.want)+1 {
		return []conformance.Difference{{Kind: "drain answers", Text: fmt.Sprintf("%d for %d drains", len(got), len(d.want))}}, nil
	}
	drained := 0
	for i, want := range d.want {
		withoutDrainTexts(d.c, want, got[i].GetDrain())
		if out := conformance.DifferDrain(want, got[i].GetDrain()); out != nil {
			return out, nil
		}
		if want.Status == stowagev1.DrainStatus_DRAIN_STATUS_DRAINED {
			drained += len(want.Nodes.Indexes)
		}
	}
	summary := &stowagev1.DrainSummary{DrainedCount: uint32(drained), TotalCount: uint32(len(d.nodes()))}
	if out := conformance.DifferDrained(summary, got[len(d.want)].GetSummary()); out != nil || !d.c.Grouped() || d.c.Whole {
		return out, nil
	}
	return d.consolidate(ctx, stowage)
}

// consolidate compares what Consolidate says of its first action, if it has one, and else of the nodes that it keeps: each is a drain.
func (d *drains) consolidate(ctx context.Context, stowage conformance.Simulation) ([]conformance.Difference, error) {
	if d.c.Drain.Targets != nil || d.c.Drain.IgnoreBudgets || d.c.Drain.Force {
		return nil, nil // Consolidate has no such options
	}
	nodes := &stowagev1.CandidateNodes{}
	for _, n := range d.nodes() {
		nodes.Indexes = append(nodes.Indexes, uint32(n))
	}
	if len(nodes.Indexes) == 0 {
		return nil, nil
	}
	got, err := stowage.Consolidate(ctx, &stowagev1.ConsolidateRequest{
		Context: d.request.Context, Candidates: []*stowagev1.PricedNodes{{Nodes: nodes, Price: 1}}, MaxActions: new(uint32(1)),
		EvictedPods: d.request.EvictedPods, TieBreakSeed: d.request.TieBreakSeed,
	})
	if err != nil {
		return []conformance.Difference{{Kind: "consolidate fails", Text: err.Error()}}, nil
	}
	for _, a := range got.Actions {
		return d.same(a.Drain, true)
	}
	for _, k := range got.Kept {
		if out, err := d.same(k.Drain, false); out != nil || err != nil {
			return out, err
		}
	}
	return nil, nil
}

// same compares a drain of Consolidate.
func (d *drains) same(got *stowagev1.NodeDrain, moves bool) ([]conformance.Difference, error) {
	if got == nil {
		return nil, nil
	}
	var nodes []int
	for _, n := range got.Nodes.GetIndexes() {
		nodes = append(nodes, int(n))
	}
	fresh := expect.NewDrainer(d.c, d.kindOf, d.drainer.Templates())
	fresh.DeleteEmptyDirData = true
	want, err := fresh.Drain(nodes...)
	if err != nil {
		return nil, err
	}
	if !moves {
		want.Moves = nil
	}
	withoutDrainTexts(d.c, want, got)
	out := conformance.DifferDrain(want, got)
	for i := range out {
		out[i].Kind = "consolidate: " + out[i].Kind
	}
	return out, nil
}

// ask calls Stowage.
func (d *drains) ask(
	ctx context.Context, stowage conformance.Simulation,
) (got []*stowagev1.DrainResponse, out []conformance.Difference) {
	defer func() {
		if p := recover(); p != nil {
			out = []conformance.Difference{{Kind: "panic", Text: fmt.Sprintf("%v\n%s", p, debug.Stack())}}
		}
	}()
	got, err := stowage.Drain(ctx, d.request)
	if err != nil {
		return nil, []conformance.Difference{{Kind: "drain fails", Text: err.Error()}}
	}
	return got, nil
}

// nodes are the indexes of the nodes to drain.
func (d *drains) nodes() (out []int) {
	for i, n := range d.c.Nodes {
		if slices.Contains(d.c.Drained(), n.Name) {
			out = append(out, i)
		}
	}
	return out
}

// expect drains as kube-scheduler would place.
func (d *drains) expect() error {
	if d.c.Drain.Mode == scenario.Together {
		one, err := d.drainer.Drain(d.nodes()...)
		d.want = []*stowagev1.NodeDrain{one}
		return err
	}
	d.want = []*stowagev1.NodeDrain{}
	for _, n := range d.nodes() {
		one, err := d.drainer.Fork().Drain(n)
		if err != nil {
			return err
		}
		d.want = append(d.want, one)
	}
	return nil
}

// largest compares the drains of the largest set, one after the other. Once they ended, no other node may be drained if no order
// drains more nodes.
func (d *drains) largest(got []*stowagev1.DrainResponse) ([]conformance.Difference, error) {
	d.want = []*stowagev1.NodeDrain{}
	if len(got) == 0 {
		return []conformance.Difference{{Kind: "drain answers", Text: "none"}}, nil
	}
	left := d.nodes()
	for _, part := range got[:len(got)-1] {
		one := part.GetDrain()
		if one == nil || len(one.Nodes.GetIndexes()) != 1 || !slices.Contains(left, int(one.Nodes.Indexes[0])) {
			return []conformance.Difference{{Kind: "drain nodes", Text: fmt.Sprint(part)}}, nil
		}
		node := int(one.Nodes.Indexes[0])
		left = slices.DeleteFunc(left, func(n int) bool { return n == node })
		want, err := d.drainer.Drain(node)
		if err != nil {
			return nil, err
		}
		d.want = append(d.want, want)
		withoutDrainTexts(d.c, want, one)
		if out := conformance.DifferDrain(want, one); out != nil {
			return out, nil
		}
		if want.Status != stowagev1.DrainStatus_DRAIN_STATUS_DRAINED {
			return []conformance.Difference{{Kind: "drain of the largest set", Text: fmt.Sprint(want)}}, nil
		}
	}
	summary := got[len(got)-1].GetSummary()
	want := &stowagev1.DrainSummary{DrainedCount: uint32(len(d.want)), TotalCount: uint32(len(d.nodes()))}
	if out := conformance.DifferDrained(want, summary); out != nil {
		return out, nil
	}
	if bound := int(summary.UpperBound); bound < len(d.want) || summary.Proven && bound != len(d.want) {
		return []conformance.Difference{{Kind: "drain upper_bound", Text: fmt.Sprint(summary)}}, nil
	}
	for _, n := range left {
		one, err := d.drainer.Fork().Drain(n)
		if err != nil {
			return nil, err
		}
		if one.Status == stowagev1.DrainStatus_DRAIN_STATUS_DRAINED && (summary.Proven || int(summary.UpperBound) == len(d.want)) {
			text := fmt.Sprintf("%v, but node %d can be drained", summary, n)
			return []conformance.Difference{{Kind: "drain proven", Text: text}}, nil
		}
	}
	return nil, nil
}

// Drains counts results of drains.
type Drains struct {
	Cases, Whole, Each, Together, Largest, Terminating int
	// All are the drains. Rounds have several rounds; Moved pods were placed.
	All, Drained, Unplaced, Blocked, Rounds, Moved, Staying, Preempted int
}

// Add counts a case's drains.
func (o *Drains) Add(c *scenario.Case, drains []*stowagev1.NodeDrain) {
	count := func(n *int, when bool) {
		if when {
			*n++
		}
	}
	o.Cases++
	count(&o.Whole, c.Whole)
	count(&o.Terminating, c.Drain.Terminating)
	count(&o.Each, c.Drain.Mode == scenario.EachNode)
	count(&o.Together, c.Drain.Mode == scenario.Together)
	count(&o.Largest, c.Drain.Mode == scenario.LargestSet)
	for _, d := range drains {
		o.All++
		count(&o.Drained, d.Status == stowagev1.DrainStatus_DRAIN_STATUS_DRAINED)
		count(&o.Unplaced, d.Status == stowagev1.DrainStatus_DRAIN_STATUS_UNPLACED)
		count(&o.Blocked, d.Status == stowagev1.DrainStatus_DRAIN_STATUS_BLOCKED)
		count(&o.Rounds, d.RoundCount > 1)
		o.Moved += int(d.PlacedCount)
		o.Staying += int(d.StayingCount)
		o.Preempted += len(d.Preempted)
	}
}
