package compact

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Labels returns a node's labels, including its class's. The caller must not change them.
func Labels(c *stowagev1.Cluster, n *stowagev1.Node) map[string]string {
	class := classOf(c, n)
	if class == nil {
		return n.GetLabels()
	}
	out := make(map[string]string, len(class.GetLabels())+len(class.GetNameLabelKeys())+len(n.GetLabels()))
	maps.Copy(out, class.GetLabels())
	for _, key := range class.GetNameLabelKeys() {
		out[key] = n.GetName()
	}
	maps.Copy(out, n.GetLabels())
	return out
}

// classOf returns a node's class, nil if there is none.
func classOf(c *stowagev1.Cluster, n *stowagev1.Node) *stowagev1.NodeClass {
	if n.ClassIndex == nil || int(n.GetClassIndex()) >= len(c.GetNodeClasses()) {
		return nil
	}
	return c.GetNodeClasses()[n.GetClassIndex()]
}

// WholeNode returns a node merged with its class, or the node itself if it has no class. An unknown class is an error.
func WholeNode(c *stowagev1.Cluster, n *stowagev1.Node) (*stowagev1.Node, error) {
	if n.ClassIndex == nil {
		return n, nil
	}
	class := classOf(c, n)
	if class == nil {
		return nil, fmt.Errorf("class_index: there is no class %d", n.GetClassIndex())
	}
	out := Shallow(n)
	out.ClassIndex = nil
	out.Labels = Labels(c, n)
	out.Taints = slices.Concat(class.GetTaints(), n.GetTaints())
	out.Images = slices.Concat(class.GetImages(), n.GetImages())
	out.DeclaredFeatures = slices.Concat(class.GetDeclaredFeatures(), n.GetDeclaredFeatures())
	out.Allocatable = overlaid(class.GetAllocatable(), n.GetAllocatable())
	out.CsiNode = cmp.Or(n.GetCsiNode(), class.GetCsiNode())
	return out, nil
}

// overlaid merges resources; upper wins.
func overlaid(lower, upper *stowagev1.Resources) *stowagev1.Resources {
	if lower == nil || upper == nil {
		return cmp.Or(lower, upper)
	}
	scalars := make(map[string]int64, len(lower.GetScalars())+len(upper.GetScalars()))
	maps.Copy(scalars, lower.GetScalars())
	maps.Copy(scalars, upper.GetScalars())
	return &stowagev1.Resources{
		CpuMillis:             cmp.Or(upper.CpuMillis, lower.CpuMillis),
		MemoryBytes:           cmp.Or(upper.MemoryBytes, lower.MemoryBytes),
		EphemeralStorageBytes: cmp.Or(upper.EphemeralStorageBytes, lower.EphemeralStorageBytes),
		Pods:                  cmp.Or(upper.Pods, lower.Pods),
		Scalars:               scalars,
	}
}

// Template returns the template of a pod, its own or the cluster's, nil if it is unknown.
func Template(c *stowagev1.Cluster, p *stowagev1.Pod) *stowagev1.PodTemplate {
	if t := p.GetTemplate(); t != nil {
		return t
	}
	if all := c.GetPodTemplates(); int(p.GetTemplateIndex()) < len(all) {
		return all[p.GetTemplateIndex()]
	}
	return nil
}
