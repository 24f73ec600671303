package compact

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Label is a node's label, whether the node or its class states it.
func Label(c *stowagev1.Cluster, n *stowagev1.Node, key string) (value string, ok bool) {
	if value, ok := n.GetLabels()[key]; ok {
		return value, true
	}
	class := classOf(c, n)
	if slices.Contains(class.GetNameLabelKeys(), key) {
		return n.GetName(), true
	}
	value, ok = class.GetLabels()[key]
	return value, ok
}

// classOf is a node's class, nil if there is none.
func classOf(c *stowagev1.Cluster, n *stowagev1.Node) *stowagev1.NodeClass {
	if n.ClassIndex == nil || int(n.GetClassIndex()) >= len(c.GetNodeClasses()) {
		return nil
	}
	return c.GetNodeClasses()[n.GetClassIndex()]
}

// WholeNode is a node of the cluster with what its class states for it; the node itself if it has no class. A class that
// the cluster does not have is an error.
func WholeNode(c *stowagev1.Cluster, n *stowagev1.Node) (*stowagev1.Node, error) {
	if n.ClassIndex == nil {
		return n, nil
	}
	class := classOf(c, n)
	if class == nil {
		return nil, fmt.Errorf("class_index: there is no class %d", n.GetClassIndex())
	}
	out := shallow(n)
	out.ClassIndex = nil
	named := make(map[string]string, len(class.GetNameLabelKeys()))
	for _, key := range class.GetNameLabelKeys() {
		named[key] = n.GetName()
	}
	out.Labels = merged(merged(class.GetLabels(), named), n.GetLabels())
	out.Taints = slices.Concat(class.GetTaints(), n.GetTaints())
	out.Images = slices.Concat(class.GetImages(), n.GetImages())
	out.Allocatable = overlaid(class.GetAllocatable(), n.GetAllocatable())
	return out, nil
}

// overlaid is resources of which the upper ones win.
func overlaid(lower, upper *stowagev1.Resources) *stowagev1.Resources {
	if lower == nil || upper == nil {
		return cmp.Or(lower, upper)
	}
	return &stowagev1.Resources{
		CpuMillis:             cmp.Or(upper.CpuMillis, lower.CpuMillis),
		MemoryBytes:           cmp.Or(upper.MemoryBytes, lower.MemoryBytes),
		EphemeralStorageBytes: cmp.Or(upper.EphemeralStorageBytes, lower.EphemeralStorageBytes),
		Pods:                  cmp.Or(upper.Pods, lower.Pods),
		Scalars:               merged(lower.GetScalars(), upper.GetScalars()),
	}
}

func merged[V any](lower, upper map[string]V) map[string]V {
	out := make(map[string]V, len(lower)+len(upper))
	maps.Copy(out, lower)
	maps.Copy(out, upper)
	return out
}
