package scenario

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// WithoutNominations returns the case as it is if no pod is nominated, and whether that is another case.
func (c *Case) WithoutNominations() (*Case, bool) {
	out := *c
	out.Nominated = nil
	out.Queue = slices.Clone(c.Queue)
	nominated := len(c.Nominated) > 0
	for i, q := range out.Queue {
		if q.Pod == nil || q.Pod.Status.NominatedNodeName == "" {
			continue
		}
		nominated = true
		out.Queue[i].Pod = q.Pod.DeepCopy()
		out.Queue[i].Pod.Status.NominatedNodeName = ""
	}
	return &out, nominated
}

// Twins reports for each pod of the queue whether it is also among the nominated pods, which then have its nomination.
func Twins(queue, nominated []*corev1.Pod) []bool {
	known := map[[2]string]bool{}
	for _, p := range nominated {
		known[nameOf(p)] = true
	}
	out := make([]bool, len(queue))
	for i, p := range queue {
		out[i] = known[nameOf(p)]
	}
	return out
}

func nameOf(p *corev1.Pod) [2]string {
	if p.Namespace == "" {
		return [2]string{corev1.NamespaceDefault, p.Name}
	}
	return [2]string{p.Namespace, p.Name}
}
