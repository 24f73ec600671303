package compare

import (
	"context"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

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
		if form.CountPods && preempts(want.Ran) {
			continue // pods without names are in no groups, and have another order of importance
		}
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
	if len(r.Differences) > 0 {
		return r, nil
	}
	r.Running, r.Differences, err = askRunning(ctx, c, stowage)
	return r, err
}

// answerGroups returns the expected answer, and the differences of Stowage's.
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
	request.Explain, request.IncludePreemption = false, true
	got, err := stowage.Place(ctx, request)
	if err != nil {
		return answer, []conformance.Difference{{Kind: "place fails", Text: err.Error()}}
	}
	decided(s, want, got)
	if form.CountPods {
		got = withoutNames(got)
		for _, g := range want.Groups {
			for i := range g.Answers {
				bare := withoutNames(&stowagev1.PlaceResponse{
					PodGroups: []*stowagev1.PodGroupPlacement{g.Answers[i].Group}, Placements: g.Answers[i].Placements,
				})
				g.Answers[i].Group, g.Answers[i].Placements = bare.PodGroups[0], bare.Placements
			}
		}
	}
	answer.Placements, answer.ClaimBindings = slices.Clone(want.Alone), want.Bindings
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
	if form.CountPods {
		answer = withoutNames(answer)
	}
	return answer, conformance.DifferGroups(answer, got)
}

// named is a text about a pod on a node by its name, which counted pods lack.
var named = regexp.MustCompile(`(no topology domain found for pod [^/]+/)\S+`)

// withoutNames returns an answer that names no pods on nodes.
func withoutNames(a *stowagev1.PlaceResponse) *stowagev1.PlaceResponse {
	a = proto.CloneOf(a)
	for _, g := range a.PodGroups {
		g.Message = named.ReplaceAllString(g.Message, "$1")
	}
	for _, p := range a.Placements {
		p.Message = named.ReplaceAllString(p.Message, "$1")
	}
	return a
}

func preempts(groups []*oracle.Group) bool {
	return slices.ContainsFunc(groups, func(g *oracle.Group) bool {
		return slices.ContainsFunc(g.Outcomes, func(o oracle.Outcome) bool { return o.Preempts })
	})
}

// decided makes an answer one that can be compared: nothing is said of preemption for pods without a group, which are not in
// groups for a scheduler of pods alone, and of groups without pods in the queue.
func decided(s *oracle.Scheduler, want *expect.Grouped, got *stowagev1.PlaceResponse) {
	for i, p := range got.Placements {
		if oracle.GroupOf(s.Queue[i]) == "" && p.Preemption != nil {
			p.Message = strings.TrimSuffix(p.Message, " "+p.Preemption.Message)
		}
	}
	got.PodGroups = slices.DeleteFunc(got.PodGroups, func(g *stowagev1.PodGroupPlacement) bool {
		return !slices.ContainsFunc(s.Queue, func(p *corev1.Pod) bool { return oracle.GroupOf(p) == g.Name })
	})
	for i, g := range got.PodGroups {
		for _, v := range g.Preemption.GetVictims() {
			if _, ok := v.Origin.(*stowagev1.PodReference_TemplateIndex); ok {
				v.Origin = nil
			}
		}
		expect.Together{Pods: s.Pods, Queue: s.Queue, Groups: s.PodGroups}.Sort(g.Preemption.GetVictims())
		if i >= len(want.Ran) || g.Preemption == nil {
			continue
		}
		if p := want.Ran[i].Outcomes[0].Preemption; p != nil && p.Violations < 0 {
			g.Preemption.PdbViolations, g.Preemption.GroupDisruptionCount = 0, 0
			expect.SortByName(g.Preemption)
		}
	}
}

// samePlacements compares the placements of a group's entries.
func samePlacements(entries []int, want, got []*stowagev1.Placement) bool {
	for i, entry := range entries {
		if entry >= len(got) || !proto.Equal(want[i], conformance.Decided(got[entry])) {
			return false
		}
	}
	return true
}

// Groups counts pod groups by result.
type Groups struct {
	All, Complete, BestEffort, Infeasible, Failed int
	// Topology have a topology key, Several more than one domain, and Ties several domains with the highest score. Running
	// have pods on nodes.
	Topology, Several, Ties, Running int
	// Preempting find victims, Whole some that are evicted together, and Violating violate budgets. Kept leave pods of lower
	// priority where they are. Ongoing wait for victims, Fruitless find none, and Erring fail with an error of preemption.
	Preempting, Whole, Violating, Kept, Ongoing, Fruitless, Erring int
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
		o, p := &g.Outcomes[0], answer[i].Preemption
		count(&t.Erring, o.Preempts && p == nil)
		if p == nil {
			continue
		}
		count(&t.Preempting, len(p.Nominations) > 0)
		count(&t.Whole, o.Preemption.Whole > 0)
		count(&t.Kept, o.Preemption.Kept > 0)
		count(&t.Violating, p.PdbViolations > 0)
		count(&t.Ongoing, p.Ongoing)
		count(&t.Fruitless, !p.Ongoing && len(p.Nominations) == 0)
	}
}
