package compare

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// runQueue compares how a whole kube-scheduler runs the case's queue. Counted pods have no names and start times: kube-scheduler
// would choose other victims.
func runQueue(ctx context.Context, c *scenario.Case, stowage conformance.Service) (*Result, error) {
	q, err := oracle.NewQueue(c, expect.Best(c))
	if err != nil {
		return nil, err
	}
	defer q.Close()
	r := &Result{}
	if r.Queue, err = q.Run(); err != nil {
		return nil, err
	}
	want, err := expect.QueueAnswer(c, r.Queue)
	if err != nil {
		return nil, err
	}
	for _, form := range []Form{{}, {Stored: true}} {
		if r.Differences = answerQueue(ctx, c, q.Scheduler, form, stowage, r.Queue, want); len(r.Differences) > 0 {
			break
		}
	}
	return r, nil
}

func answerQueue(
	ctx context.Context, c *scenario.Case, s *oracle.Scheduler, form Form, stowage conformance.Service,
	ran *oracle.QueueResult, want *stowagev1.PlaceResponse,
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
	return conformance.RunQueue(ctx, request, want, stowage, func(r *stowagev1.PlaceResponse) { decidedGroups(c, s, ran, r) })
}

// decidedGroups removes from an answer what kube-scheduler leaves open, or does not report, about groups: the texts of a group for
// which several domains were tried, as kube-scheduler reports any one domain; texts about pods on nodes that are in several domains
// or have several priorities, as it reports any two; texts of pods whose group has a pod with gates; and the order of a group's
// victims if some are only evicted together, as it goes through these in the order of a map, or if all are terminating.
func decidedGroups(c *scenario.Case, s *oracle.Scheduler, ran *oracle.QueueResult, r *stowagev1.PlaceResponse) {
	gated := map[string]bool{}
	for i, q := range c.Queue {
		if name := oracle.GroupOf(s.Queue[i]); name != "" && len(q.Pod.Spec.SchedulingGates) > 0 {
			gated[name] = true
		}
	}
	open := func(name string) bool {
		if name == "" || gated[name] {
			return name != ""
		}
		g := ran.Groups[name]
		return g.Domains > 1 || strings.HasPrefix(g.Message, "cannot determine domain") || strings.HasPrefix(g.Message, "all pods in a")
	}
	for i, p := range r.Placements {
		if name := oracle.GroupOf(s.Queue[i]); open(name) && !(gated[name] && len(c.Queue[i].Pod.Spec.SchedulingGates) > 0) {
			p.Message, p.Rejections = "", nil
		}
	}
	var groups []*stowagev1.PodGroupPlacement
	for _, g := range r.PodGroups {
		if ran.Groups[g.Name] == nil || ran.Groups[g.Name].Attempts == 0 && !gated[g.Name] {
			continue
		}
		if g.Domains, g.Preemption, g.FirstUnplacedQueueIndex = nil, nil, nil; open(g.Name) {
			g.Message = ""
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *stowagev1.PodGroupPlacement) int { return cmp.Compare(a.Name, b.Name) })
	r.PodGroups = groups
	leaveOpen(ran, r)
	if slices.ContainsFunc(c.PodGroups, func(g *schedulingv1beta1.PodGroup) bool { return g.Spec.DisruptionMode != nil }) {
		for _, e := range r.Evictions {
			if e.PodGroup != "" {
				sortVictims(e)
			}
		}
	}
}

// leaveOpen removes the order of a group's victims if all are terminating, and the number of violated budgets: kube-scheduler evicts
// none of them.
func leaveOpen(ran *oracle.QueueResult, r *stowagev1.PlaceResponse) {
	for i, e := range r.Evictions {
		if i < len(ran.Evictions) && ran.Evictions[i].Unordered {
			e.PdbViolations = 0
			sortVictims(e)
		}
	}
}

// sortVictims sorts victims by name and node.
func sortVictims(e *stowagev1.Eviction) {
	slices.SortFunc(e.Victims, func(a, b *stowagev1.PodReference) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.GetNodeIndex(), b.GetNodeIndex()))
	})
}

// Queues counts events in the queues of whole kube-schedulers.
type Queues struct {
	Cases, Pods, Attempts int
	// Retried pods were placed at a later attempt than the first, LaterRounds of them once time had passed.
	Retried, LaterRounds int
	// Preemptions had Victims, Chained ones pods of the queue among them. After a Vain one the preemptor was not placed on that
	// node.
	Preemptions, Victims, Chained, Vain, Violating int
	// Fruitful rounds placed or evicted a pod after time had passed.
	Fruitful, Unplaced, Evicted, Gated int
}

// Add counts a queue.
func (o *Queues) Add(r *oracle.QueueResult) {
	o.Cases++
	o.Pods += len(r.Pods)
	o.Fruitful += r.Fruitful
	count := func(n *int, when bool) {
		if when {
			*n++
		}
	}
	for _, p := range r.Pods {
		o.Attempts += p.Attempts
		count(&o.Retried, p.Placed > 0 && p.Attempts > 1)
		count(&o.LaterRounds, p.Placed > 0 && p.Round > 0)
		count(&o.Unplaced, p.Placed == 0)
		count(&o.Evicted, p.Evicted)
		count(&o.Gated, p.Attempts == 0)
	}
	for _, e := range r.Evictions {
		o.Preemptions++
		o.Victims += len(e.Victims)
		chained := false
		for _, v := range e.Victims {
			chained = chained || v.Entry >= 0
		}
		count(&o.Chained, chained)
		count(&o.Vain, !e.Placed)
		count(&o.Violating, e.Violations > 0)
	}
}
