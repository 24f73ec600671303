package content

import (
	"cmp"
	"slices"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// podName is a pod's namespace and name.
type podName struct{ namespace, name string }

// movePods removes and adds pods of an encoded node, and returns the result like encodeNode. Error paths are relative to d.
func (a *applier) movePods(node []byte, d *stowagev1.NodePodsDelta) (*stowagev1.Node, []byte, error) {
	n := &stowagev1.Node{}
	if err := decode(node, n); err != nil {
		return nil, nil, err
	}
	if err := removeCounts(n, d.GetRemovedPodCounts()); err != nil {
		return nil, nil, err
	}
	if err := a.removePods(&n.Pods, d.GetRemovedPods(), "removed_pods[%d]", "pod not found on the node"); err != nil {
		return nil, nil, err
	}
	err := a.removePods(&n.NominatedPods, d.GetRemovedNominatedPods(), "removed_nominated_pods[%d]", "pod not nominated to the node")
	if err != nil {
		return nil, nil, err
	}
	if err := a.nominate(n, d.GetNominatedPods()); err != nil {
		return nil, nil, err
	}
	n.PodCounts = append(n.PodCounts, d.GetPodCounts()...)
	n.Pods = append(n.Pods, d.GetPods()...)
	return encodeNode(n)
}

// nominate adds nominated pods to n. Each must be a new one.
func (a *applier) nominate(n *stowagev1.Node, pods []*stowagev1.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	nominated := make(map[podName]bool, len(n.NominatedPods)+len(pods))
	for _, p := range n.NominatedPods {
		nominated[a.nameOf(p)] = true
	}
	for i, p := range pods {
		if nominated[a.nameOf(p)] {
			return refuse(location{"nominated_pods[%d].name", i}.String(), stowagev1.ViolationReason_VIOLATION_REASON_DUPLICATE,
				"duplicates another pod nominated to the node")
		}
		nominated[a.nameOf(p)] = true
	}
	n.NominatedPods = append(n.NominatedPods, pods...)
	return nil
}

// removeCounts subtracts counts from the counts of n, which it modifies.
func removeCounts(n *stowagev1.Node, removed []*stowagev1.PodCount) error {
	if len(removed) == 0 {
		return nil
	}
	type pods struct {
		template    uint32
		terminating bool
		readiness   stowagev1.PodReadiness
	}
	counts := make(map[pods]*stowagev1.PodCount, len(n.PodCounts))
	for _, c := range n.PodCounts {
		counts[pods{c.GetTemplateIndex(), c.GetTerminating(), c.GetReadiness()}] = c
	}
	for i, r := range removed {
		c := counts[pods{r.GetTemplateIndex(), r.GetTerminating(), r.GetReadiness()}]
		if r.GetCount() > c.GetCount() {
			return refuse(location{"removed_pod_counts[%d].count", i}.String(), stowagev1.ViolationReason_VIOLATION_REASON_OUT_OF_RANGE,
				"is %d, the node has only %d of these pods", r.GetCount(), c.GetCount())
		}
		if c != nil {
			c.Count -= r.GetCount()
		}
	}
	n.PodCounts = slices.DeleteFunc(n.PodCounts, func(c *stowagev1.PodCount) bool { return c.GetCount() == 0 })
	return nil
}

// removePods removes pods by name from a list of a node. Of pods with the same name it removes the first in canonical order.
func (a *applier) removePods(list *[]*stowagev1.Pod, removed []*stowagev1.NamespacedName, format, missingPod string) error {
	if len(removed) == 0 {
		return nil
	}
	pending := make(map[podName][]int, len(removed))
	for i, r := range removed {
		name := podName{cmp.Or(r.GetNamespace(), defaultNamespace), r.GetName()}
		pending[name] = append(pending[name], i)
	}
	*list = slices.DeleteFunc(*list, func(p *stowagev1.Pod) bool {
		name := a.nameOf(p)
		positions := pending[name]
		if len(positions) == 0 {
			return false
		}
		pending[name] = positions[1:]
		return true
	})
	missing := len(removed)
	for _, positions := range pending {
		if len(positions) > 0 {
			missing = min(missing, positions[0])
		}
	}
	if missing < len(removed) {
		return refuse(location{format, missing}.String(), stowagev1.ViolationReason_VIOLATION_REASON_NOT_FOUND, "%s", missingPod)
	}
	return nil
}

// nameOf returns a pod's name, and the namespace of its template.
func (a *applier) nameOf(p *stowagev1.Pod) podName {
	namespace := p.GetTemplate().GetNamespace()
	if source, ok := p.GetSource().(*stowagev1.Pod_TemplateIndex); ok && int(source.TemplateIndex) < a.next.List(PodTemplates).Len() {
		namespace = string(nameOf(a.next.List(PodTemplates).At(int(source.TemplateIndex))))
	}
	return podName{cmp.Or(namespace, defaultNamespace), p.GetName()}
}
