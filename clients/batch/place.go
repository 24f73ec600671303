package batch

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/live"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// callTimeout bounds one call of Place.
const callTimeout = 30 * time.Second

// preemptionPairs is the maximum number of pairs of a queue entry and a node for a call that includes preemption. Preemption for an
// unschedulable entry takes 11 ms at 5,000 nodes, in proportion to the nodes: about a second in all, for which the placed pods
// wait. A group counts as groupEntries entries: it takes 0.7 s at 5,000 nodes with 30 pods each.
const (
	preemptionPairs = 500_000
	groupEntries    = 100
)

// includesPreemption reports whether a call includes preemption. entries is the number of entries without a group. A call of one
// group always does, because no smaller call is possible.
func (s *Scheduler) includesPreemption(entries, groups, nodes int) bool {
	alone := entries == 0 && groups == 1
	return !s.options.NoPreemption && (alone || (entries+groupEntries*groups)*nodes <= s.options.PreemptionPairs)
}

// checkedAttempts is the number of attempts that accept a decision only if the cluster has not changed since the request.
const checkedAttempts = 4

// schedule places pods, with a time limit for each call. Afterwards each pod is being bound or back in the queue.
func (s *Scheduler) schedule(ctx context.Context, pods []candidate, epoch uint64, within time.Duration) {
	odd := 0 // consecutive calls that failed because of one pod or group
	for attempt, halved := 1, 0; ; {
		if pods = s.undecided(s.pending.current(pods)); len(pods) == 0 {
			return
		}
		part := pods[:wholeGroups(pods, max(1, len(pods)>>(attempt-1+halved)))]
		term := s.options.Lease.Term()
		verdicts, preempt, err := s.place(ctx, part, term, attempt <= checkedAttempts, within)
		if errors.Is(err, live.ErrChanged) {
			s.metrics.outdated.Add(ctx, 1)
			attempt++
			continue
		}
		if mayBeOfOne(err) && odd < oddInARow && wholeGroups(pods, 1) < len(part) {
			halved++
			continue
		}
		if err != nil && stowage.Details(err).RetryAfter > 0 {
			// A smaller call does not help against a busy server, and no pod is at fault. All are retried after their backoff.
			s.log.Warn("the server is busy", "pods", len(pods), "error", err)
			for _, c := range pods {
				s.pending.back(c, time.Now(), anyEpoch)
			}
			return
		}
		if err != nil {
			verdicts = s.allFailed(part, err, within)
		}
		s.settle(ctx, verdicts, term, epoch)
		left := without(part, verdicts)
		if preempt != nil { // the placed pods do not wait for the eviction
			evicts, more := preempt()
			s.settle(ctx, more, term, epoch)
			left = without(left, more)
			if evicts != nil {
				left = without(left, evicts.nominees)
				s.start(evicts, epoch)
			}
		}
		switch {
		case err != nil && odd < oddInARow:
			odd++
		case err == nil && len(left) > 0: // a pod evicts others: those behind it are decided again, and it may not be the last
			odd, halved = 0, min(halved+1, maxHalved)
		case err == nil:
			odd, halved = 0, max(0, halved-1)
		}
		if odd == oddInARow {
			halved = 0
		}
		pods, attempt = append(slices.Clone(left), pods[len(part):]...), 1
	}
}

// settle starts the bindings of placed pods, and leaves other pods pending.
func (s *Scheduler) settle(ctx context.Context, verdicts []verdict, term, epoch uint64) {
	for _, v := range verdicts {
		v.term = term
		switch {
		case v.node != "":
			s.bindings <- v
		case v.soon:
			s.leave(ctx, v, anyEpoch)
		case v.why == unschedulable && len(s.heldBy(v.pod)) > 0:
			s.giveBack(v, s.heldBy(v.pod), epoch)
		default:
			s.leave(ctx, v, epoch)
		}
	}
}

// maxHalved is the maximum number of times that a batch is halved.
const maxHalved = 30

// without returns the pods without a verdict.
func without(pods []candidate, verdicts []verdict) []candidate {
	if len(verdicts) == 0 {
		return pods
	}
	decided := make(map[types.UID]bool, len(verdicts))
	for _, v := range verdicts {
		decided[v.pod.UID] = true
	}
	return slices.DeleteFunc(slices.Clone(pods), func(c candidate) bool { return decided[c.pod.UID] })
}

// allFailed returns the verdicts of pods whose call failed.
func (s *Scheduler) allFailed(pods []candidate, err error, within time.Duration) (verdicts []verdict) {
	s.log.Error("cannot place pods", "pods", len(pods), "error", err)
	d := stowage.Details(err)
	message := d.Message
	if d.Code == codes.DeadlineExceeded {
		message = fmt.Sprintf("no decision within %s", within.Round(time.Millisecond))
	}
	for _, c := range pods {
		verdicts = append(verdicts, verdict{candidate: c, message: message, why: failed})
	}
	return verdicts
}

// oddInARow is the number of consecutive pods or groups that may each fail a call. Beyond it the pods are not at fault, and all
// remaining pods fail.
const oddInARow = 16

// mayBeOfOne reports whether one pod may have made the call fail; the caller then retries with half of the pods.
func mayBeOfOne(err error) bool {
	if err == nil {
		return false
	}
	d := stowage.Details(err)
	if d.RetryAfter > 0 { // the server is busy
		return false
	}
	switch d.Code {
	case codes.InvalidArgument, codes.OutOfRange, codes.ResourceExhausted, codes.Internal, codes.Unknown:
		return true
	}
	return false
}

// undecided returns the pods that are not assumed. Assumed pods may have a node, and wait for the outcome.
func (s *Scheduler) undecided(pods []candidate) []candidate {
	return slices.DeleteFunc(pods, func(c candidate) bool {
		node, _ := s.cluster.NodeOf(c.pod.UID)
		if node != "" {
			s.pending.back(c, time.Now(), anyEpoch)
		}
		return node != ""
	})
}

// wholeGroups returns n, or more if a group begins among the first n pods and ends after them.
func wholeGroups(pods []candidate, n int) int {
	key, grouped := groupOf(pods[n-1].pod)
	for ; grouped && n < len(pods); n++ {
		if k, _ := groupOf(pods[n].pod); k != key {
			break
		}
	}
	return n
}

// place calls Place and assumes the placed pods. If a pod or a group may evict others, preempt decides about the eviction
// (Scheduler.preempt); neither it nor the pods behind it have a verdict, because they must be decided with its nomination. If
// checked, place returns live.ErrChanged if the cluster has changed since the request.
func (s *Scheduler) place(ctx context.Context, pods []candidate, term uint64, checked bool, within time.Duration) (
	_ []verdict, preempt func() (*eviction, []verdict), _ error,
) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var view *live.View
	var answer *stowagev1.PlaceResponse
	var claims map[types.UID][]*resourcev1.ResourceClaim
	includePreemption := false
	q, refused := s.ask(ctx, pods)
	for len(q.queue) > 0 {
		begin := time.Now()
		err := s.cluster.Ask(ctx, func(ctx context.Context, v *live.View) (err error) {
			view, includePreemption = v, s.includesPreemption(q.single(), len(q.groups), v.NodeCount())
			answer, err = s.client.Place(ctx, &stowagev1.PlaceRequest{
				Context: &stowagev1.DecisionContext{
					Base: &stowagev1.DecisionContext_Snapshot{Snapshot: v.Reference()}, Profile: s.options.Profile,
				}, Queue: q.queue, PodGroups: q.groups, IncludePreemption: includePreemption, TieBreak: s.options.TieBreak,
			})
			return err
		})
		s.metrics.took(ctx, "place", begin)
		more := q.binding(answer)
		if err != nil {
			more = q.without(err)
		} else if len(more) == 0 {
			if claims, more, err = s.claimsOf(q, answer, view.NodeName); err != nil {
				return nil, nil, err
			}
		}
		if len(more) == 0 && err != nil {
			return nil, nil, err
		}
		if len(more) == 0 {
			break
		}
		refused = append(refused, more...)
		q, more = s.ask(ctx, without(pods, refused))
		refused = append(refused, more...)
	}
	if len(q.queue) == 0 {
		return refused, nil, nil
	}
	verdicts := q.verdicts(answer, view.NodeName, s.evicts())
	verdicts, behind := s.untilPreemptor(verdicts, includePreemption || wholeGroups(pods, 1) >= len(pods))
	s.metrics.placed.Record(ctx, int64(len(verdicts)))
	decided := time.Now()
	if err := s.assume(view, checked, verdicts, claims, term, decided); err != nil {
		return nil, nil, err
	}
	s.gangs.join(verdicts, q.needs)
	for _, v := range verdicts {
		if v.node != "" {
			s.pending.bind(v.candidate)
			s.reports.drop(v.pod.UID)
		}
	}
	if len(behind) > 0 {
		preempt = func() (*eviction, []verdict) { return s.preempt(behind, view, term, decided) }
	}
	return append(verdicts, refused...), preempt, nil
}

// assume counts the placed pods of a response on their nodes, with their claims. If checked, it returns live.ErrChanged if the cluster has changed since
// the request.
func (s *Scheduler) assume(
	view *live.View, checked bool, verdicts []verdict, claims map[types.UID][]*resourcev1.ResourceClaim, term uint64, decided time.Time,
) error {
	var assumed []live.Assumption
	for i := range verdicts {
		v := &verdicts[i]
		v.version, v.term, v.decided = view.Version(), term, decided
		if v.node != "" {
			v.claims = claims[v.pod.UID]
			assumed = append(assumed, live.Assumption{Pod: v.pod, Node: v.node, Held: true, Claims: v.claims})
		}
	}
	if !checked {
		view = nil
	}
	return s.cluster.Assume(view, assumed...)
}

var violationPath = regexp.MustCompile(`^(queue|pod_groups)\[(\d+)\]\.?(?:pod\.)?(?:template\.)?(.*)$`)

// without returns the rejected pods with the reason; none if the error has another cause. A group is rejected as a whole.
func (q *question) without(err error) []verdict {
	d := stowage.Details(err)
	if d.Code != codes.InvalidArgument {
		return nil
	}
	reasons := map[int]string{}
	for _, violation := range d.Violations {
		found := violationPath.FindStringSubmatch(violation.Field)
		if found == nil {
			continue
		}
		i, err := strconv.Atoi(found[2])
		entry, parts := -1, []string{found[3], violation.Description}
		var group string
		switch {
		case err != nil:
			continue
		case found[1] == "queue" && i < len(q.queue):
			entry, group = i, q.queue[i].PodGroup
		case found[1] == "pod_groups" && i < len(q.groups):
			group = q.groups[i].Name
			parts = append([]string{"pod group " + group}, parts...)
		default:
			continue
		}
		reason := strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ": ")
		q.reject(reasons, entry, group, reason)
	}
	return q.rejected(reasons)
}

// binding returns the placed pods with claims that are bound together with them: the claims have changed since the question.
func (q *question) binding(a *stowagev1.PlaceResponse) []verdict {
	reasons := map[int]string{}
	for _, b := range a.GetClaimBindings() {
		i := int(b.QueueIndex)
		q.reject(reasons, i, q.queue[i].PodGroup, bindsNoVolumes(b.Namespace, []string{b.Name}).Error())
	}
	return q.rejected(reasons)
}

// reject adds the reason of a rejected entry, or of all entries of a rejected group.
func (q *question) reject(reasons map[int]string, entry int, group, reason string) {
	for j, e := range q.queue {
		if reasons[j] == "" && (j == entry || group != "" && e.PodGroup == group) {
			reasons[j] = reason
		}
	}
}

// rejected returns the verdicts of rejected entries.
func (q *question) rejected(reasons map[int]string) []verdict {
	var out []verdict
	for i, reason := range reasons {
		for _, c := range q.pods[i] {
			out = append(out, verdict{candidate: c, message: reason, why: undecidable})
		}
	}
	return out
}
