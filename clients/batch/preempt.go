package batch

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

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

// untilPreemptor cuts verdicts before the first pod or group that may evict others. The pods behind it must be decided with its
// nomination, because kube-scheduler decides one pod after the other. included reports whether the response has preemption.
func (s *Scheduler) untilPreemptor(verdicts []verdict, included bool) (before, behind []verdict) {
	if !s.evicts() {
		return verdicts, nil
	}
	lowest, known := int32(0), false
	for i := range verdicts {
		v := &verdicts[i]
		switch {
		case v.node != "" || v.why != unschedulable:
			continue
		case v.preempts.GetNominated() != nil || len(v.groupPreempts.GetNominations()) > 0:
			return cut(verdicts, i)
		case included || neverPreempts(v.pod):
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

// cut splits verdicts at an index. Placed pods of a group that spans the cut stay before it: a group is bound as a whole.
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

// preempt decides about the first pod or its group. It returns their eviction, or their verdicts if they evict nothing. Pods
// without either must be decided again.
func (s *Scheduler) preempt(behind []verdict, view *live.View, term uint64, decided time.Time) (*eviction, []verdict) {
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
	out := &eviction{}
	var rest []verdict
	var victims []*stowagev1.PodReference
	switch one, group := first.preempts.GetNominated(), first.groupPreempts; {
	case one != nil:
		members[0].nominee = view.NodeName(one.NodeIndex)
		victims, out.violations = one.Victims, int(one.PdbViolations)
	case len(group.GetNominations()) > 0:
		victims, out.violations = group.Victims, int(group.PdbViolations)
	default:
		return nil, nil // the response has no preemption
	}
	for _, v := range members {
		if v.nominee == "" {
			rest = append(rest, v) // the group does not need it for its minimum
			continue
		}
		out.nominees = append(out.nominees, v)
	}
	var known bool
	if out.victims, known = s.victims(victims, out.nominees, view); !known {
		for i := range members {
			members[i].soon, members[i].nominee = true, ""
		}
		return nil, members
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

// victims returns the pods to evict for nominees, each for the nominee of its node, or else for the first nominee. known is false
// if, according to the latest events, one of them is not bound there: its binding is pending, or it is gone.
func (s *Scheduler) victims(of []*stowagev1.PodReference, nominees []verdict, view *live.View) (out []victim, known bool) {
	by := map[string]*corev1.Pod{}
	for _, v := range slices.Backward(nominees) {
		by[v.nominee] = v.pod
	}
	for _, r := range of {
		o, there, err := s.pods.GetByKey(r.Namespace + "/" + r.Name)
		if err != nil || !there {
			return nil, false
		}
		p, node := o.(*corev1.Pod), view.NodeName(r.GetNodeIndex())
		if on, assumed := s.cluster.NodeOf(p.UID); assumed || on != node || p.Spec.NodeName != node {
			return nil, false
		}
		out = append(out, victim{p, cmp.Or(by[node], nominees[0].pod), node})
	}
	return out, true
}
