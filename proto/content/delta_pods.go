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
	if err := a.removePods(n, d.GetRemovedPods()); err != nil {
		return nil, nil, err
	}
	n.PodCounts = append(n.PodCounts, d.GetPodCounts()...)
	n.Pods = append(n.Pods, d.GetPods()...)
	return encodeNode(n)
}

// removeCounts subtracts counts from those of n, which it modifies.
func removeCounts(n *stowagev1.Node, removed []*stowagev1.PodCount) error {
	if len(removed) == 0 {
		return nil
	}
	type pods struct {
		template    uint32
		terminating bool
	}
	counts := make(map[pods]*stowagev1.PodCount, len(n.PodCounts))
	for _, c := range n.PodCounts {
		counts[pods{c.GetTemplateIndex(), c.GetTerminating()}] = c
	}
	for i, r := range removed {
		c := counts[pods{r.GetTemplateIndex(), r.GetTerminating()}]
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

// removePods removes pods by name from n. Of pods with the same name it removes the first in canonical order.
func (a *applier) removePods(n *stowagev1.Node, removed []*stowagev1.PodName) error {
	if len(removed) == 0 {
		return nil
	}
	pending := make(map[podName][]int, len(removed))
	for i, r := range removed {
		name := podName{cmp.Or(r.GetNamespace(), defaultNamespace), r.GetName()}
		pending[name] = append(pending[name], i)
	}
	n.Pods = slices.DeleteFunc(n.Pods, func(p *stowagev1.Pod) bool {
		name := podName{a.namespaceOf(p), p.GetName()}
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
		return refuse(location{"removed_pods[%d]", missing}.String(), stowagev1.ViolationReason_VIOLATION_REASON_NOT_FOUND, "pod not found on the node")
	}
	return nil
}

// namespaceOf returns the namespace of a pod's template.
func (a *applier) namespaceOf(p *stowagev1.Pod) string {
	namespace := p.GetTemplate().GetNamespace()
	if source, ok := p.GetSource().(*stowagev1.Pod_TemplateIndex); ok && int(source.TemplateIndex) < a.next.templates.Len() {
		namespace = string(nameOf(a.next.templates.At(int(source.TemplateIndex))))
	}
	return cmp.Or(namespace, defaultNamespace)
}
