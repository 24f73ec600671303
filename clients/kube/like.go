package kube

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/compact"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// templateNameBytes is how long the name of a node template may be.
const templateNameBytes = 52

// TemplateLike returns a template of nodes like one of the cluster, as Change.added_node describes them, with the price 1.
func (s *Snapshot) TemplateLike(index uint32) (*stowagev1.NodeTemplate, error) {
	like, err := compact.WholeNode(s.Cluster, s.Cluster.Nodes[index])
	if err != nil {
		return nil, err
	}
	node := compact.Shallow(like)
	node.Name = like.Name[:min(len(like.Name), templateNameBytes)]
	node.Taints = slices.DeleteFunc(slices.Clone(like.Taints), func(t *stowagev1.Taint) bool { return nodestate.Has(t.GetKey()) })
	node.Unschedulable, node.Images = false, nil
	node.PodCounts, node.Pods, node.NominatedPods = nil, nil, nil
	for _, c := range like.PodCounts {
		if !c.GetTerminating() && tied(s.Cluster.PodTemplates[c.GetTemplateIndex()]) {
			node.PodCounts = append(node.PodCounts, c)
		}
	}
	for _, p := range like.Pods {
		if !p.GetTerminating() && tied(compact.Template(s.Cluster, p)) {
			node.Pods = append(node.Pods, p)
		}
	}
	out := &stowagev1.NodeTemplate{Node: node, Price: 1}
	for key, value := range like.Labels {
		if value == like.Name && key != corev1.LabelHostname {
			out.NameLabelKeys = append(out.NameLabelKeys, key)
		}
	}
	slices.Sort(out.NameLabelKeys)
	return out, nil
}

// tied reports whether a pod's controller creates it for a node: a DaemonSet, or a kubelet.
func tied(t *stowagev1.PodTemplate) bool {
	c := t.GetController()
	return c.GetApiVersion() == "apps/v1" && c.GetKind() == "DaemonSet" || c.GetApiVersion() == "v1" && c.GetKind() == "Node"
}
