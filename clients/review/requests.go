package review

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube"
)

// requests reviews the node name and the requests: what no node has.
func (p *podReview) requests() {
	spec, at := &p.of.Pod.Spec, p.of.Path
	if name := spec.NodeName; name != "" && !slices.ContainsFunc(p.nodes, func(n *corev1.Node) bool { return n.Name == name }) {
		p.find(Broken, NodeName, at.Child("nodeName"), "no node has the name %s", name)
	}
	if !p.anyHas(corev1.ResourcePods) {
		p.find(Broken, Resource, at, "no node states how many pods it takes: status.allocatable.pods")
	}
	told := map[corev1.ResourceName]bool{}
	for _, all := range []struct {
		field      string
		containers []corev1.Container
	}{{"containers", spec.Containers}, {"initContainers", spec.InitContainers}} {
		for i := range all.containers {
			requests := all.containers[i].Resources.Requests
			for _, name := range slices.Sorted(maps.Keys(requests)) {
				if q := requests[name]; told[name] || q.IsZero() || p.anyHas(name) {
					continue
				}
				told[name] = true
				p.find(Broken, Resource, at.Child(all.field).Index(i).Child("resources", "requests").Key(string(name)),
					"no node has the resource %s", name)
			}
		}
	}
}

// anyHas reports whether a node has some of a resource.
func (r *Reviewer) anyHas(name corev1.ResourceName) bool {
	return slices.ContainsFunc(r.nodes, func(n *corev1.Node) bool {
		q := kube.Allocatable(n)[name]
		return q.Sign() > 0
	})
}
