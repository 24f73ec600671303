package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// question is the queue of a request, and the pods of each entry.
type question struct {
	queue  []*stowagev1.PendingPods
	groups []*stowagev1.PodGroup
	needs  map[string]int // number of pods that each group still needs for its minimum
	pods   [][]candidate  // of each entry of queue
}

// ask builds the queue of pods, in their order. It rejects unsupported pods, with the reason.
func (s *Scheduler) ask(ctx context.Context, pods []candidate) (q *question, refused []verdict) {
	q = &question{needs: map[string]int{}}
	classes := s.cluster.DeviceClasses()
	for rest := pods; len(rest) > 0; {
		members := rest[:1]
		key, grouped := groupOf(rest[0].pod)
		if grouped {
			end := slices.IndexFunc(rest, func(c candidate) bool { k, _ := groupOf(c.pod); return k != key })
			if end < 0 {
				end = len(rest)
			}
			members = rest[:end]
		}
		rest = rest[len(members):]
		converted, err := s.convertPods(members, classes)
		var group *stowagev1.PodGroup
		var needs int
		if err == nil && grouped {
			group, needs, err = s.group(ctx, key, members)
		}
		if err != nil {
			for _, c := range members {
				refused = append(refused, verdict{candidate: c, message: err.Error(), why: whyOf(err)})
			}
			continue
		}
		name := ""
		if group != nil {
			name = group.Name
			q.groups, q.needs[name] = append(q.groups, group), needs
		}
		for i, c := range members {
			q.add(c, converted[i], name)
		}
	}
	return q, refused
}

// group returns a group with all of its pending pods, and the number of pods that it needs; nil if the pods are placed one by one.
func (s *Scheduler) group(ctx context.Context, key groupKey, pods []candidate) (*stowagev1.PodGroup, int, error) {
	if key.object {
		return s.podGroup(key, len(pods))
	}
	minimum, err := s.stillNeeded(ctx, key, pods)
	if err != nil || minimum == 0 {
		return nil, 0, err
	}
	return &stowagev1.PodGroup{Name: key.String(), MinCount: new(uint32(minimum)), Mode: s.options.GroupMode}, minimum, nil
}

// stillNeeded is the number of pending pods that a group needs for its minimum, in addition to running and succeeded pods. pods are
// all of its pending pods.
func (s *Scheduler) stillNeeded(ctx context.Context, key groupKey, pods []candidate) (int, error) {
	decided, err := s.decided(key)
	if err != nil {
		return 0, err
	}
	minimum := 0
	for _, c := range pods {
		n, err := minAvailable(c.pod)
		if err != nil {
			return 0, err
		}
		minimum = max(minimum, n)
	}
	if minimum == 0 {
		return len(pods), nil
	}
	if decided+len(pods) < minimum {
		succeeded, err := s.succeeded(ctx, key)
		if err != nil {
			return 0, err
		}
		decided += succeeded
	}
	if decided+len(pods) < minimum {
		return 0, because(gated, "pod group %s has %d of at least %d pods", key.name, decided+len(pods), minimum)
	}
	return max(0, minimum-decided), nil
}

// becauseError is an error with its class of reasons.
type becauseError struct {
	why
	error
}

func because(w why, format string, args ...any) error {
	return becauseError{w, fmt.Errorf(format, args...)}
}

// whyOf returns the class of an error. An error without a class is the fault of the pods themselves.
func whyOf(err error) why {
	if b, ok := errors.AsType[becauseError](err); ok {
		return b.why
	}
	return undecidable
}

// convertPods converts pods, all or none. classes are the DeviceClasses by extended resource.
func (s *Scheduler) convertPods(pods []candidate, classes map[string]string) ([]*stowagev1.Pod, error) {
	var out []*stowagev1.Pod
	for _, c := range pods {
		if err := s.allocatesNoDevices(c.pod); err != nil {
			return nil, err
		}
		if err := awaitsClaims(c.pod); err != nil {
			return nil, err
		}
		p, err := s.cluster.PendingPod(c.pod)
		if err != nil {
			return nil, err
		}
		if err := understood(append(p.Unread, convert.ServedByDevices(c.pod, p, classes)...)); err != nil {
			return nil, err
		}
		if waiting := s.cluster.ClaimsOf(c.pod).Waiting; len(waiting) > 0 {
			return nil, bindsNoVolumes(c.pod.Namespace, waiting)
		}
		// Equal pods share an entry. A nominated pod needs its name, as it does not count against itself, and so does a pod whose claims
		// are named after it.
		if p.NominatedNodeName == "" && len(c.pod.Spec.ResourceClaims) == 0 && !slices.ContainsFunc(p.GetTemplate().GetSpec().GetVolumes(), convert.NamedByPod) {
			p.Name = ""
		}
		out = append(out, p)
	}
	return out, nil
}

// understood rejects pods with fields of kube-scheduler that the contract does not have: kube-scheduler might reject the node that
// Stowage would choose.
func understood(unread []*stowagev1.UnreadField) error {
	if len(unread) == 0 {
		return nil
	}
	var out []string
	for _, u := range unread {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s of %s: %s", u.Field, u.Object, u.Consequence), ": "))
	}
	return fmt.Errorf("this scheduler leaves the pod alone, because it does not read %s", strings.Join(out, "; "))
}

// bindsNoVolumes rejects a pod with claims that get their volumes when it gets its node (docs/0033-volumes-in-clients.md).
func bindsNoVolumes(namespace string, claims []string) error {
	var out []string
	for _, name := range claims {
		out = append(out, namespace+"/"+name)
	}
	return fmt.Errorf("this scheduler leaves the pod alone, because it binds no volumes, and these claims wait for the pod's node: %s",
		strings.Join(out, ", "))
}

// add appends a pod. A pod equal to the pod of the last entry joins that entry.
func (q *question) add(c candidate, pod *stowagev1.Pod, group string) {
	if last := len(q.queue) - 1; last >= 0 && q.queue[last].PodGroup == group && proto.Equal(q.queue[last].Pod, pod) {
		*q.queue[last].Count++
		q.pods[last] = append(q.pods[last], c)
		return
	}
	q.queue = append(q.queue, &stowagev1.PendingPods{Pod: pod, Count: new(uint32(1)), PodGroup: group})
	q.pods = append(q.pods, []candidate{c})
}

// single counts the entries without a group.
func (q *question) single() (n int) {
	for _, e := range q.queue {
		if e.PodGroup == "" {
			n++
		}
	}
	return n
}

// verdict is a pod's node, or the reason why it has none.
type verdict struct {
	candidate
	node string
	// claims are the pod's resource claims to write before it is bound.
	claims  []*resourcev1.ResourceClaim
	message string
	why     why
	// preempts is the result of preemption for an unschedulable pod, nil if the response has none.
	preempts *stowagev1.Preemption
	// groupPreempts is the result of preemption for the pod's group, nil if the response has none.
	groupPreempts *stowagev1.PodGroupPreemption
	// group is the group of a pod without a node, "" if it has none.
	group string
	// nominee is the node that a pod is nominated to while its victims terminate.
	nominee string
	// clears: the nomination of the pod ends.
	clears bool
	// keeps: its group waits for victims, and keeps its nominations.
	keeps bool
	// soon: the pod is retried although nothing has changed.
	soon bool

	decided time.Time
	version uint64 // the decision's version of the cluster
	term    uint64 // lease term of the decision
	gang    *gang  // nil if the pod is in no group
}

// verdicts reads a response. evicts reports whether victims are evicted.
func (q *question) verdicts(a *stowagev1.PlaceResponse, nodeName func(uint32) string, evicts bool) []verdict {
	refused := map[string]verdict{} // reasons of groups that are not placed
	for i := range q.groups {
		g := a.PodGroups[i]
		if g.PlacedCount > 0 {
			continue
		}
		reasons := []string{"pod group " + q.groups[i].Name}
		if g.Message != "" {
			reasons = append(reasons, g.Message)
		}
		if g.FirstUnplacedQueueIndex != nil {
			reasons = append(reasons, a.Placements[g.GetFirstUnplacedQueueIndex()].Message)
		}
		v := verdict{message: strings.Join(reasons, ": "), why: whyUnplaced(g), groupPreempts: g.Preemption, group: q.groups[i].Name}
		v.keeps = g.GetPreemption().GetOngoing()
		switch {
		case g.GetPreemption().GetUndecided():
			v.message += "; its preemption victims are unknown"
		case !evicts && len(g.GetPreemption().GetNominations()) > 0:
			v.message += notEvicted
		}
		refused[v.group] = v
	}
	var out []verdict
	for i, p := range a.Placements {
		placed := p.GetNodes().GetIndexes()
		for j, c := range q.pods[i] {
			v := verdict{candidate: c}
			switch group, ofGroup := refused[q.queue[i].PodGroup]; {
			case j < len(placed):
				v.node = nodeName(placed[j])
			case ofGroup:
				v = group
				v.candidate = c
			default:
				v.message, v.why, v.preempts = p.Message, whyUnplaced(p), p.GetPreemption()
				if !evicts && v.preempts.GetNominated() != nil {
					v.message += notEvicted
				}
				v.clears = evicts && v.preempts.GetClearsNomination() && c.pod.Status.NominatedNodeName != ""
			}
			out = append(out, v)
		}
	}
	if !evicts {
		return out
	}
	first := make([]int, len(q.pods)) // of each entry's verdicts
	for i := 1; i < len(first); i++ {
		first[i] = first[i-1] + len(q.pods[i-1])
	}
	for _, g := range a.PodGroups {
		for _, n := range g.GetPreemption().GetNominations() {
			for j, node := range n.GetNodes().GetIndexes() {
				out[first[n.QueueIndex]+j].nominee = nodeName(node)
			}
		}
	}
	return out
}

// notEvicted follows the result of preemption if the scheduler evicts nothing.
const notEvicted = "; this scheduler evicts no pods"

// whyUnplaced classifies why pods have no node. Where kube-scheduler ends a pod's cycle with an internal error, other nodes do not
// help.
func whyUnplaced(answer interface{ GetInternalError() bool }) why {
	if answer.GetInternalError() {
		return undecidable
	}
	return unschedulable
}
