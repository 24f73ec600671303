package review

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// requests finds node names and requested resources that no node has.
func (p *podReview) requests() {
	spec, at := &p.of.Pod.Spec, p.of.Path
	if name := spec.NodeName; name != "" && !slices.ContainsFunc(p.nodes, func(n *corev1.Node) bool { return n.Name == name }) {
		p.find(Broken, NodeName, at.Child("nodeName"), "no node has the name %s", name)
	}
	if !p.anyHas(corev1.ResourcePods) {
		p.find(Broken, Resource, at, "no node has status.allocatable.pods")
	}
	reported := map[corev1.ResourceName]bool{}
	for _, all := range []struct {
		field      string
		containers []corev1.Container
	}{{"containers", spec.Containers}, {"initContainers", spec.InitContainers}} {
		for i := range all.containers {
			requests := all.containers[i].Resources.Requests
			for _, name := range slices.Sorted(maps.Keys(requests)) {
				if q := requests[name]; reported[name] || q.IsZero() || p.anyHas(name) {
					continue
				}
				reported[name] = true
				p.find(Broken, Resource, at.Child(all.field).Index(i).Child("resources", "requests").Key(string(name)),
					"no node has the resource %s", name)
			}
		}
	}
}

// holds reports whether a node without other pods has the requested resources.
func (p *podReview) holds(n *corev1.Node) bool {
	if p.disabled(stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT) {
		return true
	}
	allocatable := convert.Allocatable(n)
	for name, q := range resourcehelper.PodRequests(p.of.Pod, resourcehelper.PodResourcesOptions{}) {
		if has := allocatable[name]; q.Cmp(has) > 0 {
			return false
		}
	}
	return true
}

// anyHas reports whether a node has some of a resource.
func (r *Reviewer) anyHas(name corev1.ResourceName) bool {
	return slices.ContainsFunc(r.nodes, func(n *corev1.Node) bool {
		q := convert.Allocatable(n)[name]
		return q.Sign() > 0
	})
}
