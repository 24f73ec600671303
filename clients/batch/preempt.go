package batch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/live"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// eviction is the pods to evict for a pod, or for a group.
type eviction struct {
	nominees   []verdict // the pod or the members of the group, each with its nominee
	victims    []victim
	violations int // victims that violate a PodDisruptionBudget
}

// victim is a pod to evict.
type victim struct {
	*corev1.Pod
	by   *corev1.Pod // the pod that it makes room for
	node string      // its node
}

// evicts reports whether victims are evicted.
func (s *Scheduler) evicts() bool { return s.options.Preempt && !s.options.NoPreemption }

// untilPreemptor cuts verdicts before the first pod or group that may evict others. The pods behind it must be decided with
// its nomination, as kube-scheduler does, which decides one pod after the other. asked says whether the answer has preemption.
func (s *Scheduler) untilPreemptor(verdicts []verdict, asked bool) (before, behind []verdict) {
	if !s.evicts() {
		return verdicts, nil
	}
	lowest, known := int32(0), false
	for i := range verdicts {
		v := &verdicts[i]
		switch {
		case v.node != "" || v.why != unschedulable:
			continue
		case v.preempts.GetNominated() != nil:
			return cut(verdicts, i)
		case asked && v.group == "" || neverPreempts(v.pod):
			continue
		}
		if !known {
			lowest, known = s.lowestPriority(), true
		}
		if priority(v.pod) > lowest {
			return cut(verdicts, i)
		}
		v.clears = v.pod.Status.NominatedNodeName != "" // there are no candidates
	}
	return verdicts, nil
}

// cut cuts verdicts before one. The placed pods of its group stay before the cut: a group is bound as a whole.
func cut(verdicts []verdict, at int) (before, behind []verdict) {
	before = slices.Clone(verdicts[:at])
	group, grouped := groupOf(verdicts[at].pod)
	for _, v := range verdicts[at:] {
		if key, _ := groupOf(v.pod); grouped && key == group && v.node != "" {
			before = append(before, v)
		} else {
			behind = append(behind, v)
		}
	}
	return before, behind
}

func neverPreempts(p *corev1.Pod) bool {
	return p.Spec.PreemptionPolicy != nil && *p.Spec.PreemptionPolicy == corev1.PreemptNever
}

// lowestPriority is the lowest priority of a pod on a node.
func (s *Scheduler) lowestPriority() int32 {
	out := int32(math.MaxInt32)
	for _, o := range s.pods.List() {
		if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName != "" {
			out = min(out, priority(p))
		}
	}
	return out
}

// preempt decides about the first of some pods, or the group that it is in. It returns what they evict, or their verdicts if
// they evict nothing. The other pods have no verdict. A pod without both is to be decided again.
func (s *Scheduler) preempt(ctx context.Context, behind []verdict, view *live.View, term uint64, decided time.Time) (
	*eviction, []verdict,
) {
	first := behind[0]
	members := behind[:1]
	if first.group != "" {
		key, _ := groupOf(first.pod)
		end := slices.IndexFunc(behind, func(v verdict) bool { k, _ := groupOf(v.pod); return k != key })
		if end < 0 {
			end = len(behind)
		}
		members = behind[:end]
	}
	for i := range members {
		members[i].version, members[i].term, members[i].decided = view.Version(), term, decided
	}
	var out *eviction
	var rest []verdict
	switch {
	case first.preempts.GetNominated() != nil:
		c := first.preempts.Nominated
		node := view.NodeName(c.NodeIndex)
		victims, known := s.victims(c, first.pod, node)
		if !known {
			members[0].soon = true
			return nil, members
		}
		out = &eviction{nominees: slices.Clone(members), victims: victims, violations: int(c.PdbViolations)}
		out.nominees[0].nominee = node
	case first.group != "":
		out, rest = s.preemptForGroup(ctx, members)
	default:
		return nil, nil // preemption was not asked for
	}
	if out == nil {
		return nil, rest
	}
	for i := range out.nominees {
		v := &out.nominees[i]
		s.reports.drop(v.pod.UID)
		s.cluster.Nominate(v.pod, v.nominee)
		v.pod = nominatedTo(v.pod, v.nominee)
		s.pending.evict(v.candidate)
	}
	return out, rest
}

// victims returns the victims of a candidate. known is false if one of them is not bound there, according to the latest
// events: it is waiting to be bound, or gone.
func (s *Scheduler) victims(c *stowagev1.PreemptionCandidate, by *corev1.Pod, node string) (out []victim, known bool) {
	for _, r := range c.Victims {
		o, there, err := s.pods.GetByKey(r.Namespace + "/" + r.Name)
		if err != nil || !there {
			return nil, false
		}
		p := o.(*corev1.Pod)
		if on, assumed := s.cluster.NodeOf(p.UID); assumed || on != node || p.Spec.NodeName != node {
			return nil, false
		}
		out = append(out, victim{p, by, node})
	}
	return out, true
}

// groupTimeout bounds all calls for the preemption of one group; callTimeout bounds each.
const groupTimeout = time.Minute

// preemptForGroup returns what a group without a placement evicts, and the verdicts of its pods that stay pending without it.
// Its pods look for victims one after the other, each with the victims of those before it gone, until the group has its
// minimum. Then the group is placed as if all of these victims were gone, in its own mode, and again as if only those were gone
// that are on nodes of placed members, until no others are left: if that fails, none is evicted. The members that are placed
// are nominated to their nodes, so that the group keeps its room, free room included, until the victims are gone.
func (s *Scheduler) preemptForGroup(ctx context.Context, members []verdict) (*eviction, []verdict) {
	ctx, cancel := context.WithTimeout(ctx, groupTimeout)
	defer cancel()
	var pods []candidate
	for _, v := range members {
		if neverPreempts(v.pod) {
			return nil, members
		}
		pods = append(pods, v.candidate)
	}
	if s.waitForVictims(members) {
		for i := range members {
			members[i].keeps = true
		}
		return nil, members
	}
	out := &eviction{}
	violations := map[string]int{} // by node
	for range members {
		a, err := s.askFor(ctx, pods, out.victims, false)
		if err != nil {
			s.log.Warn("cannot look for victims of a pod group", "group", members[0].group, "error", err)
			return nil, members
		}
		if a.placed >= a.minimum {
			break
		}
		next := a.preemption.GetNominated()
		if next == nil {
			return nil, members
		}
		node := a.view.NodeName(next.NodeIndex)
		victims, known := s.victims(next, a.unplaced, node)
		if !known {
			for i := range members {
				members[i].soon = true
			}
			return nil, members
		}
		out.victims = append(out.victims, victims...)
		violations[node] += int(next.PdbViolations)
	}
	var a groupAnswer
	for found := 0; found != len(out.victims); {
		var err error
		if a, err = s.askFor(ctx, pods, out.victims, true); err != nil {
			s.log.Warn("cannot place a pod group without its victims", "group", members[0].group, "error", err)
			return nil, members
		}
		if a.placed == 0 {
			return nil, members
		}
		on := map[string]bool{}
		for _, v := range a.verdicts {
			on[v.node] = true
		}
		found, out.violations = len(out.victims), 0
		for node, n := range violations {
			if on[node] {
				out.violations += n
			}
		}
		out.victims = slices.DeleteFunc(out.victims, func(v victim) bool { return !on[v.node] })
	}
	if len(out.victims) == 0 {
		return nil, members
	}
	var rest []verdict
	decided := time.Now()
	for i, v := range a.verdicts {
		member := members[i]
		member.version, member.decided = a.view.Version(), decided
		if member.nominee = v.node; v.node == "" {
			rest = append(rest, member)
			continue
		}
		member.message += fmt.Sprintf("; %d pods are evicted for the group", len(out.victims))
		out.nominees = append(out.nominees, member)
	}
	return out, rest
}

// waitForVictims reports whether preempted pods of lower priority terminate on a node that a member is nominated to: the group has
// evicted enough. kube-scheduler has that rule for a pod (PodEligibleToPreemptOthers).
func (s *Scheduler) waitForVictims(members []verdict) bool {
	nominated := map[string]int32{}
	for _, v := range members {
		if node := v.pod.Status.NominatedNodeName; node != "" {
			nominated[node] = priority(v.pod)
		}
	}
	return len(nominated) > 0 && slices.ContainsFunc(s.pods.List(), func(o any) bool {
		p, ok := o.(*corev1.Pod)
		if !ok || !kube.Preempted(p) {
			return false
		}
		above, here := nominated[p.Spec.NodeName]
		return here && priority(p) < above
	})
}

// groupAnswer is what becomes of the pods of a group.
type groupAnswer struct {
	view            *live.View
	verdicts        []verdict
	placed, minimum int
	// unplaced is the first pod without a node, nil if there is none, and preemption what it finds.
	unplaced   *corev1.Pod
	preemption *stowagev1.Preemption
}

// askFor places the pods of a group as if victims were gone: as a group, or one by one, looking for further victims.
func (s *Scheduler) askFor(ctx context.Context, pods []candidate, victims []victim, asGroup bool) (out groupAnswer, err error) {
	q, refused := s.ask(ctx, pods)
	if len(refused) > 0 || len(q.groups) != 1 {
		return out, errors.New("the group has changed")
	}
	out.minimum = max(1, int(q.groups[0].GetMinCount())-len(q.groups[0].ScheduledPods))
	if !asGroup {
		q.groups = nil
		for _, e := range q.queue {
			e.PodGroup = ""
		}
	}
	gone := make([]types.UID, len(victims))
	for i, v := range victims {
		gone[i] = v.UID
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var answer *stowagev1.PlaceResponse
	if err := s.cluster.AskWithout(ctx, gone, func(ctx context.Context, v *live.View) (err error) {
		out.view = v
		answer, err = s.client.Place(ctx, &stowagev1.PlaceRequest{
			Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}, Profile: s.options.Profile,
			}, Queue: q.queue, PodGroups: q.groups, IncludePreemption: !asGroup,
		})
		return err
	}); err != nil {
		return out, err
	}
	out.verdicts = q.verdicts(answer, out.view.NodeName, true)
	for _, v := range out.verdicts {
		switch {
		case v.node != "":
			out.placed++
		case out.unplaced == nil:
			out.unplaced, out.preemption = v.pod, v.preempts
		}
	}
	return out, nil
}
