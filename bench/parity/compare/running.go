package compare

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Running counts questions about groups with pods on nodes.
type Running struct {
	// Members counts decisions about a single pod: Confined ones about some of the nodes, Infeasible and Failed ones without a node.
	// Fits were counted.
	Members, Confined, Infeasible, Failed, Fits int
	// Preempts are pods without a group that preempt, Whole of them groups as a whole on several nodes.
	Preempts, Whole int
}

// mostMembers is how many pods of a group are counted that fit.
const mostMembers = 6

// askRunning compares the answers of Filter, Score and Fit for one more pod of each running group with kube-scheduler's own pod
// group cycle for that pod alone, and the answers of Preempt for the pods without a group.
func askRunning(ctx context.Context, c *scenario.Case, stowage conformance.Service) (*Running, []conformance.Difference, error) {
	out := &Running{}
	for _, q := range c.Queue {
		pod := q.Pod.DeepCopy()
		pod.Status.NominatedNodeName = ""
		alone := *c
		alone.Queue = []scenario.Pending{{Pod: pod, Count: 1}}
		alone.Nominated = slices.DeleteFunc(slices.Clone(c.Nominated), func(p *corev1.Pod) bool { return p.Name == pod.Name })
		ask := out.preempt
		if group := expect.GroupOf(pod); group != "" {
			running := expect.Running(c, group)
			if ask = out.member; running == 0 || !expect.Reaches(c, group, running+1) {
				continue
			}
		}
		if d, err := about(ctx, &alone, stowage, ask); d != nil || err != nil {
			return out, d, err
		}
	}
	return out, nil, nil
}

// about decides about the only pod of a case. It uses up the case's scheduler.
func about(
	ctx context.Context, c *scenario.Case, stowage conformance.Service,
	ask func(context.Context, *scenario.Case, *oracle.Scheduler, *stowagev1.PlaceRequest, conformance.Service) ([]conformance.Difference, error),
) ([]conformance.Difference, error) {
	s, err := oracle.New(c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	request, err := PlaceRequest(c, s, Form{})
	if err != nil {
		return []conformance.Difference{{Kind: "clients/kube fails", Text: err.Error()}}, nil
	}
	return ask(ctx, c, s, request, stowage)
}

func (o *Running) member(
	ctx context.Context, c *scenario.Case, s *oracle.Scheduler, request *stowagev1.PlaceRequest, stowage conformance.Service,
) ([]conformance.Difference, error) {
	want, err := expect.MemberOf(c, s)
	if want == nil || err != nil {
		return nil, err
	}
	o.Members++
	if want.Filter == nil {
		o.Failed++
		got, err := stowage.Filter(ctx, conformance.FilterRequest(request, 0))
		known := slices.ContainsFunc(want.Failures, func(text string) bool { // one has preemption's text behind it
			return text == got.GetMessage() || strings.HasPrefix(text, got.GetMessage()+", ")
		})
		if err != nil || got.InternalError != want.Failed || !known || len(got.FeasibleNodes.GetIndexes()) > 0 {
			return []conformance.Difference{{Kind: "filter of a failed group", Text: fmt.Sprint(want.Failures, got, err)}}, nil
		}
		return nil, nil
	}
	if len(want.Filter.FeasibleNodes.GetIndexes()) == 0 {
		o.Infeasible++
	}
	confined := false
	differences := conformance.RunMember(ctx, request, want.Filter, want.Score, stowage, func(r *stowagev1.FilterResponse) []conformance.Difference {
		var outside []uint32
		r.Rejections = slices.DeleteFunc(r.Rejections, func(r *stowagev1.Rejection) bool {
			own := r.Plugin == stowagev1.Plugin_PLUGIN_TOPOLOGY_PLACEMENT_GENERATOR
			if own {
				outside = append(outside, r.Nodes.GetIndexes()...)
			}
			return own
		})
		confined = len(outside) > 0
		if len(outside)+len(want.Nodes) != len(candidates(c)) || slices.ContainsFunc(outside, func(n uint32) bool { return slices.Contains(want.Nodes, n) }) {
			return []conformance.Difference{{Kind: "nodes of a group", Text: fmt.Sprintf("kube-scheduler attempts %v, outside are %v", want.Nodes, outside)}}
		}
		return nil
	})
	if confined {
		o.Confined++
	}
	if differences != nil {
		return differences, nil
	}
	return o.fit(ctx, c, request, stowage)
}

// candidates are the indexes of the candidate nodes.
func candidates(c *scenario.Case) (out []uint32) {
	for i, n := range c.Nodes {
		if c.Candidates == nil || slices.Contains(c.Candidates, n.Name) {
			out = append(out, uint32(i))
		}
	}
	return out
}

func (o *Running) fit(
	ctx context.Context, c *scenario.Case, request *stowagev1.PlaceRequest, stowage conformance.Service,
) ([]conformance.Difference, error) {
	simulation, ok := stowage.(conformance.Simulation)
	if !ok {
		return nil, nil
	}
	want, err := expect.PlacedOf(c, mostMembers)
	if err != nil || want < 0 {
		return nil, err
	}
	o.Fits++
	got, err := simulation.Fit(ctx, &stowagev1.FitRequest{
		Context: request.Context, Mix: []*stowagev1.FitPod{{Pod: request.Queue[0].Pod}}, CandidateNodes: request.CandidateNodes,
		MaxUnits: new(uint32(mostMembers)), TieBreakSeed: c.TieBreakSeed,
	})
	if err != nil {
		return []conformance.Difference{{Kind: "fit fails", Text: err.Error()}}, nil
	}
	if int(got.Units) != want {
		return []conformance.Difference{{Kind: "fit of a group", Text: fmt.Sprintf("kube-scheduler places %d, %d fit", want, got.Units)}}, nil
	}
	return nil, nil
}

func (o *Running) preempt(
	ctx context.Context, c *scenario.Case, s *oracle.Scheduler, request *stowagev1.PlaceRequest, stowage conformance.Service,
) ([]conformance.Difference, error) {
	want, err := expect.PreemptOf(s, c)
	if err != nil {
		return nil, err
	}
	if n := want.GetPreemption().GetNominated(); n != nil {
		o.Preempts++
		if slices.ContainsFunc(n.Victims, func(v *stowagev1.PodReference) bool { return v.GetNodeIndex() != n.NodeIndex }) {
			o.Whole++
		}
	}
	return conformance.RunPreempt(ctx, request, want, stowage), nil
}

// add counts the questions of a case.
func (o *Running) add(r *Running) {
	if r == nil {
		return
	}
	o.Members, o.Confined, o.Infeasible = o.Members+r.Members, o.Confined+r.Confined, o.Infeasible+r.Infeasible
	o.Failed, o.Fits = o.Failed+r.Failed, o.Fits+r.Fits
	o.Preempts, o.Whole = o.Preempts+r.Preempts, o.Whole+r.Whole
}

func (o *Running) print(w io.Writer) {
	if o.Members+o.Preempts == 0 {
		return
	}
	fmt.Fprintf(w, "%d members of running groups asked about alone: %d confined to a domain, %d without a node, %d of groups that fail; %d counted; "+
		"%d pods preempt beside running groups, %d of them groups on several nodes\n",
		o.Members, o.Confined, o.Infeasible, o.Failed, o.Fits, o.Preempts, o.Whole)
}

// withoutTexts leaves out of the answers of simulations with pod groups what the cases of Place compare: texts and rejections.
func withoutTexts(c *scenario.Case, answers ...*stowagev1.WhatIfResponse) {
	if !c.Grouped() {
		return
	}
	for _, a := range answers {
		place := a.GetPlacement()
		if place == nil {
			continue
		}
		place.PodGroups = nil
		for _, p := range place.Placements {
			p.Message, p.Rejections, p.InternalError, p.AttemptCount, p.UnattemptedCount = "", nil, false, 0, 0
		}
		for _, e := range place.Evictions { // of groups, in the order of a map
			if e.PodGroup != "" {
				sortVictims(e)
			}
		}
	}
}

// withoutDrainTexts is withoutTexts for drains. The pods of a group that are preempted together are in the order of a map.
func withoutDrainTexts(c *scenario.Case, drains ...*stowagev1.NodeDrain) {
	for _, d := range drains {
		together := expect.Together{Pods: c.Pods, Groups: c.PodGroups}
		together.Sort(d.GetPreempted())
		together.SortUnplaced(d.GetUnplaced())
		for _, p := range d.GetUnplaced() {
			if c.Grouped() {
				p.Message = ""
			}
		}
	}
}
