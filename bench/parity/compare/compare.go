package compare

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Result is the result of one case.
type Result struct {
	Answers *conformance.Answers
	// Queue is the result of a whole kube-scheduler's queue. There are no Answers then.
	Queue       *oracle.QueueResult
	WhatIf      []Simulated            // of a case with scenarios, which has no other answers
	Drains      []*stowagev1.NodeDrain // of a case that drains nodes, which has no other answers
	Groups      []*oracle.Group        // of a case with pod groups, which has the answer to Place alone
	Running     *Running               // of a case with pod groups, questions about groups with pods on nodes
	Remedies    *Remedies              // of a case about changes, which has no other answers
	Differences []conformance.Difference
}

// Forms are the forms in which every case is put to Stowage.
var Forms = []Form{{}, {Stored: true}, {Stored: true, CountPods: true}}

// Run compares Stowage's answers to a case with kube-scheduler's. An error means that kube-scheduler has no answer: such a case
// cannot occur.
func Run(ctx context.Context, c *scenario.Case, stowage conformance.Service) (*Result, error) {
	release, err := oracle.Hold(c)
	if err != nil {
		return nil, err
	}
	defer release()
	if c.Drain != nil {
		return runDrain(ctx, c, stowage)
	}
	if len(c.WhatIf) > 0 {
		return runWhatIf(ctx, c, stowage)
	}
	if c.Advice {
		return runAdvice(ctx, c, stowage)
	}
	if c.Whole {
		return runQueue(ctx, c, stowage)
	}
	if c.Remedies {
		return runRemedies(ctx, c, stowage)
	}
	s, err := oracle.New(c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if c.Grouped() {
		return runGroups(ctx, c, s, stowage)
	}
	answers, err := expect.Of(c, s)
	if err != nil {
		return nil, err
	}
	r := &Result{Answers: answers}
	for _, form := range Forms {
		if form.CountPods && judgesNomination(s, answers.PlacePreempting) {
			continue // it depends on the order of importance, which counted pods do not have
		}
		// A difference shows in every form, unless it is the form's.
		if r.Differences = answer(ctx, c, s, form, stowage, answers); len(r.Differences) > 0 {
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

// judgesNomination reports whether a nominated pod of the queue finds no node but could preempt. Its nomination then depends on
// which node is the best to preempt on.
func judgesNomination(s *oracle.Scheduler, place *stowagev1.PlaceResponse) bool {
	for i, p := range place.GetPlacements() {
		if s.Queue[i].Status.NominatedNodeName != "" && len(p.GetPreemption().GetBestNodes().GetIndexes()) > 0 {
			return true
		}
	}
	return false
}

func answer(
	ctx context.Context, c *scenario.Case, s *oracle.Scheduler, form Form, stowage conformance.Service, want *conformance.Answers,
) (out []conformance.Difference) {
	defer func() {
		if p := recover(); p != nil {
			out = []conformance.Difference{{Kind: "panic", Text: fmt.Sprintf("%v\n%s", p, debug.Stack())}}
		}
	}()
	request, err := PlaceRequest(c, s, form)
	if err != nil {
		return []conformance.Difference{{Kind: "clients/kube fails", Text: err.Error()}}
	}
	answers := *want
	if form.CountPods {
		// Pods without names and start times have another order of importance.
		answers.Preempt, answers.PlacePreempting = nil, nil
	}
	return conformance.Run(ctx, &conformance.Case{Name: c.Name, Request: request, Answers: answers}, stowage)
}
