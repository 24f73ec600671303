package compare

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// runGroups is Run for a case with pod groups.
func runGroups(ctx context.Context, c *scenario.Case, s *oracle.Scheduler, stowage conformance.Service) (*Result, error) {
	want, err := expect.Groups(c, s)
	if err != nil {
		return nil, err
	}
	r := &Result{Groups: want.Ran}
	for _, form := range Forms {
		answer, differences := answerGroups(ctx, c, s, form, stowage, want)
		if r.Answers == nil {
			r.Answers = &conformance.Answers{Place: answer}
		}
		if r.Differences = differences; len(differences) > 0 {
			if form != Forms[0] {
				for i := range differences {
					differences[i].Kind += ", given " + form.String()
				}
			}
			break
		}
	}
	return r, nil
}

// answerGroups returns the answer that was to be given, and how Stowage's differs.
func answerGroups(
	ctx context.Context, c *scenario.Case, s *oracle.Scheduler, form Form, stowage conformance.Service, want *expect.Grouped,
) (answer *stowagev1.PlaceResponse, out []conformance.Difference) {
	answer = &stowagev1.PlaceResponse{}
	defer func() {
		if p := recover(); p != nil {
			out = []conformance.Difference{{Kind: "panic", Text: fmt.Sprintf("%v\n%s", p, debug.Stack())}}
		}
	}()
	request, err := PlaceRequest(c, s, form)
	if err != nil {
		return answer, []conformance.Difference{{Kind: "clients/kube fails", Text: err.Error()}}
	}
	request.Explain = false
	got, err := stowage.Place(ctx, request)
	if err != nil {
		return answer, []conformance.Difference{{Kind: "place fails", Text: err.Error()}}
	}
	answer.Placements = slices.Clone(want.Alone)
	for i, g := range want.Groups {
		chosen := g.Answers[0]
		for _, a := range g.Answers {
			same := i < len(got.PodGroups) && proto.Equal(a.Group, got.PodGroups[i])
			if same && samePlacements(g.Entries, a.Placements, got.Placements) {
				chosen = a
				break
			}
		}
		answer.PodGroups = append(answer.PodGroups, chosen.Group)
		for j, entry := range g.Entries {
			answer.Placements[entry] = chosen.Placements[j]
		}
	}
	for _, p := range answer.Placements {
		answer.PlacedCount += uint32(len(p.Nodes.Indexes))
		answer.UnplacedCount += p.UnplacedCount
	}
	return answer, conformance.DifferGroups(answer, got)
}

// samePlacements compares those of a group's entries.
func samePlacements(entries []int, want, got []*stowagev1.Placement) bool {
	for i, entry := range entries {
		if entry >= len(got) || !proto.Equal(want[i], conformance.Decided(got[entry])) {
			return false
		}
	}
	return true
}

// Groups counts pod groups by what came of them.
type Groups struct {
	All, Complete, BestEffort, Infeasible, Failed int
	// Topology have a topology key, Several more than one domain, and Ties several domains with the highest score. Running
	// have pods on nodes.
	Topology, Several, Ties, Running int
}

func (t *Groups) add(r *Result) {
	for i, g := range r.Groups {
		count := func(n *int, when bool) {
			if when {
				*n++
			}
		}
		answer := r.Answers.Place.GetPodGroups()
		if i >= len(answer) {
			continue
		}
		t.All++
		count(&t.Complete, answer[i].Status == stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE)
		count(&t.BestEffort, answer[i].Status == stowagev1.PodGroupStatus_POD_GROUP_STATUS_BEST_EFFORT)
		count(&t.Failed, answer[i].InternalError)
		count(&t.Infeasible, answer[i].Status == stowagev1.PodGroupStatus_POD_GROUP_STATUS_INFEASIBLE && !answer[i].InternalError)
		count(&t.Topology, g.Topology)
		count(&t.Several, g.Domains > 1)
		count(&t.Ties, g.Ties > 1)
		count(&t.Running, g.Running > 0)
	}
}
