package advice

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/remedy"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// highestUser is the highest priority of a PriorityClass that is not Kubernetes' own (pkg/apis/scheduling/types.go
// HighestUserDefinablePriority, v1.37).
const highestUser = 1_000_000_000

// higher is a priority to try, and the PriorityClass that has it, if one is known.
type higher struct {
	value int32
	class string
}

// priority is advice about the lowest priority with which preemption makes room for all of the pods, unless pods are offered that can
// leave without it.
func (q *Question) priority(ctx context.Context) ([]Advice, error) {
	pod := q.Pods[0].Object()
	never := pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == corev1.PreemptNever
	leave := func(c *stowagev1.Change) bool { return c.GetVictims() != nil }
	if !q.Preemption || never || slices.ContainsFunc(q.Offered, leave) || q.Returning != stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER {
		return nil, nil
	}
	converted, err := q.Snapshot.PendingPod(pod)
	if err != nil {
		return nil, err
	}
	tries := q.priorities(compact.Template(q.Snapshot.Cluster, converted).GetSpec().GetPriority())
	var scenarios []*stowagev1.Scenario
	at := 0
	for _, p := range tries {
		changed := proto.CloneOf(converted)
		changed.GetTemplate().Spec.Priority = p.value
		var s *stowagev1.Scenario
		s, at = q.scenario(changed, q.pods())
		scenarios = append(scenarios, s)
	}
	answers, err := q.play(ctx, q.Returning, scenarios...)
	if err != nil {
		return nil, err
	}
	for i, a := range answers {
		if evictions := a.GetPlacement().GetEvictions(); placed(a, at) && len(evictions) > 0 && !q.evictsSiblings(evictions) {
			return []Advice{q.raised(tries[i], evictions)}, nil
		}
	}
	return nil, nil
}

// evictsSiblings reports whether victims are pods of the same workload, which come back with the same priority.
func (q *Question) evictsSiblings(evictions []*stowagev1.Eviction) bool {
	siblings := q.siblings(q.Pods[0].Workload)
	return slices.ContainsFunc(evictions, func(e *stowagev1.Eviction) bool {
		return slices.ContainsFunc(e.GetVictims(), func(v *stowagev1.PodReference) bool {
			return slices.ContainsFunc(siblings, func(p kube.OnNode) bool {
				return p.Object.Namespace == v.GetNamespace() && p.Object.Name == v.GetName()
			})
		})
	})
}

// priorities are those to try above one: of the PriorityClasses that are known, or else those above pods on nodes.
func (q *Question) priorities(own int32) []higher {
	var out []higher
	for _, c := range q.Snapshot.PriorityClasses() {
		never := c.PreemptionPolicy != nil && *c.PreemptionPolicy == corev1.PreemptNever
		if c.Value > own && c.Value <= highestUser && !never {
			out = append(out, higher{c.Value, c.Name})
		}
	}
	if len(out) == 0 {
		for p := range q.Snapshot.OnNodes() {
			if s := p.Pod.Spec; s.Priority != nil && *s.Priority >= own && *s.Priority < highestUser {
				out = append(out, higher{value: *s.Priority + 1})
			} else if s.Priority == nil && own <= 0 {
				out = append(out, higher{value: 1})
			}
		}
	}
	slices.SortFunc(out, func(a, b higher) int { return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.class, b.class)) })
	out = slices.CompactFunc(out, func(a, b higher) bool { return a.value == b.value })
	return out[:min(len(out), maximumPriorities)]
}

// raised advises a higher priority, and says whom it evicts.
func (q *Question) raised(p higher, evictions []*stowagev1.Eviction) Advice {
	x := words.Explanation{Cluster: q.Snapshot.Cluster}
	var victims []string
	for _, e := range evictions {
		victims = append(victims, x.Pods(e.GetVictims()))
	}
	then := "; kube-scheduler then evicts " + strings.Join(victims, ", ")
	if p.class == "" {
		return Advice{
			Kind: HigherPriority, Priority: p.value,
			Text:    fmt.Sprintf("a priority above %d%s", p.value-1, then),
			Refused: fmt.Errorf("no PriorityClass above %d is among the objects", p.value-1),
		}
	}
	out := Advice{Kind: HigherPriority, Priority: p.value, Text: fmt.Sprintf("PriorityClass %s (%d)%s", p.class, p.value, then)}
	of := remedy.WorkloadOf(q.Pods[0].Origin, q.Pods[0].Object())
	out.Fix, out.Refused = remedy.Prioritized(of, p.class)
	return out
}
