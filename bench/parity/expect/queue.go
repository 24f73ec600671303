package expect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Best is the contract's choice among equally good nodes, for a case.
func Best(c *scenario.Case) func(best []uint32) uint32 {
	return func(best []uint32) uint32 { return first(c, best) }
}

// QueueAnswer converts the result of a whole kube-scheduler's run of a case's queue.
func QueueAnswer(c *scenario.Case, r *oracle.QueueResult) (*stowagev1.PlaceResponse, error) {
	out := &stowagev1.PlaceResponse{}
	for i := range c.Queue {
		var pods []*oracle.QueuedPod
		for _, p := range r.Pods {
			if p.Entry == i {
				pods = append(pods, p)
			}
		}
		entry, err := queueEntry(c, pods)
		if err != nil {
			return nil, err
		}
		out.PlacedCount += uint32(len(entry.Nodes.Indexes))
		out.UnplacedCount += entry.UnplacedCount
		out.EvictedCount += entry.EvictedCount
		out.Placements = append(out.Placements, entry)
	}
	for _, e := range r.Evictions {
		eviction := &stowagev1.Eviction{QueueIndex: uint32(e.Entry), PdbViolations: uint64(e.Violations)}
		if e.Group == "" {
			eviction.NodeIndex = new(e.Node)
		}
		for _, v := range e.Victims {
			eviction.Victims = append(eviction.Victims, victim(&v))
		}
		eviction.PodGroup = e.Group
		for _, entry := range slices.Sorted(maps.Keys(e.Nominated)) {
			eviction.Nominations = append(eviction.Nominations, &stowagev1.PodGroupNomination{
				QueueIndex: uint32(entry), Nodes: &stowagev1.NodeList{Indexes: e.Nominated[entry]},
			})
		}
		out.Evictions = append(out.Evictions, eviction)
	}
	placed := slices.DeleteFunc(slices.Clone(r.Pods), func(p *oracle.QueuedPod) bool { return p.Placed == 0 })
	slices.SortStableFunc(placed, func(a, b *oracle.QueuedPod) int { return cmp.Compare(a.Placed, b.Placed) })
	for _, p := range placed { // evicted ones among them
		out.ClaimBindings = append(out.ClaimBindings, claimBindings(p.Bindings)...)
	}
	for _, g := range c.PodGroups {
		if group := queueGroup(c, g, r, out); group != nil {
			out.PodGroups = append(out.PodGroups, group)
		}
	}
	return out, nil
}

func queueEntry(c *scenario.Case, pods []*oracle.QueuedPod) (*stowagev1.Placement, error) {
	entry := &stowagev1.Placement{Nodes: &stowagev1.NodeList{}}
	var unplacedPod *oracle.QueuedPod
	var placed []*oracle.QueuedPod
	for _, p := range pods {
		entry.AttemptCount += uint64(p.Attempts)
		switch {
		case p.Returned:
		case p.Evicted:
			entry.EvictedCount++
		case p.Placed > 0:
			placed = append(placed, p)
		default:
			entry.UnplacedCount++
			if unplacedPod == nil || p.Grouped && rejected(p) && !rejected(unplacedPod) {
				unplacedPod = p
			}
		}
	}
	slices.SortFunc(placed, func(a, b *oracle.QueuedPod) int { return cmp.Compare(a.Placed, b.Placed) })
	for _, p := range placed {
		entry.Nodes.Indexes = append(entry.Nodes.Indexes, p.Node)
	}
	if unplacedPod == nil {
		return entry, nil
	}
	entry.Message, entry.InternalError = unplacedPod.Message, unplacedPod.Failed || unplacedPod.Last.Failed()
	if unplacedPod.Grouped && !rejected(unplacedPod) {
		return entry, nil
	}
	var err error
	entry.Rejections, err = unplaced(unplacedPod.Last, candidatesOf(c))
	return entry, err
}

// rejected reports whether a pod of a group found no node when it was attempted itself.
func rejected(p *oracle.QueuedPod) bool {
	if p.Failed && !p.Last.Failed() {
		return false // the error is what counts
	}
	return p.Last != nil && (p.Last.Gate != nil || len(p.Last.Feasible) == 0 || p.Last.Failed())
}

// queueGroup converts the result of a group, without its domain and preemption; nil for a group without pods in the queue.
func queueGroup(
	c *scenario.Case, g *schedulingv1beta1.PodGroup, r *oracle.QueueResult, place *stowagev1.PlaceResponse,
) *stowagev1.PodGroupPlacement {
	out := &stowagev1.PodGroupPlacement{Name: cmp.Or(g.Namespace, corev1.NamespaceDefault) + "/" + g.Name}
	found := false
	evicted, left := uint32(0), int32(0)
	for i, q := range c.Queue {
		pod := q.Pod.DeepCopy()
		pod.Namespace = cmp.Or(pod.Namespace, corev1.NamespaceDefault)
		if oracle.GroupOf(pod) == out.Name {
			found = true
			out.PlacedCount += uint32(len(place.Placements[i].Nodes.Indexes))
			out.UnplacedCount += place.Placements[i].UnplacedCount
			evicted += place.Placements[i].EvictedCount
		}
	}
	gone := map[[2]string]bool{}
	for _, e := range r.Evictions {
		for _, v := range e.Victims {
			gone[[2]string{v.Namespace, v.Name}] = true
		}
	}
	for _, p := range c.Pods {
		pod := p.DeepCopy()
		pod.Namespace = cmp.Or(pod.Namespace, corev1.NamespaceDefault)
		switch {
		case oracle.GroupOf(pod) != out.Name:
		case gone[[2]string{pod.Namespace, pod.Name}]:
			evicted++
		default:
			left++
		}
	}
	left += int32(out.PlacedCount)
	minimum := int32(1)
	if gang := g.Spec.SchedulingPolicy.Gang; gang != nil {
		minimum = gang.MinCount
	}
	ran := r.Groups[out.Name]
	switch {
	case !found:
		return nil
	case ran.Placed > 0 && left < minimum:
		out.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_EVICTED
		out.Message = fmt.Sprintf("pods with a node: %d of the %d required; evicted: %d", left, minimum, evicted)
	case ran.Placed > 0 && out.UnplacedCount+evicted == 0:
		out.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE
	case ran.Placed > 0:
		out.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_BEST_EFFORT
	default:
		out.Status = stowagev1.PodGroupStatus_POD_GROUP_STATUS_INFEASIBLE
		out.Message, out.InternalError = ran.Message, ran.Failed
	}
	return out
}
