package scenario

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// Clone returns a copy that shares no object with c.
func (c *Case) Clone() *Case {
	out := *c
	out.Config = c.Config.clone()
	out.Nodes = copies(c.Nodes)
	out.Pods = copies(c.Pods)
	out.Namespaces = copies(c.Namespaces)
	out.Services = copies(c.Services)
	out.ReplicationControllers = copies(c.ReplicationControllers)
	out.ReplicaSets = copies(c.ReplicaSets)
	out.StatefulSets = copies(c.StatefulSets)
	out.Queue = make([]Pending, len(c.Queue))
	for i, q := range c.Queue {
		out.Queue[i] = Pending{Pod: q.Pod.DeepCopy(), Count: q.Count}
	}
	out.Candidates = slices.Clone(c.Candidates)
	return &out
}

func (c Config) clone() Config {
	weights := make(map[string]int32, len(c.Weights))
	for k, v := range c.Weights {
		weights[k] = v
	}
	c.Weights = weights
	c.NodeAffinity = c.NodeAffinity.DeepCopy()
	c.NodeResourcesFit = c.NodeResourcesFit.DeepCopy()
	c.BalancedAllocation = c.BalancedAllocation.DeepCopy()
	c.InterPodAffinity = c.InterPodAffinity.DeepCopy()
	c.PodTopologySpread = c.PodTopologySpread.DeepCopy()
	return c
}

func copies[T interface {
	comparable
	runtime.Object
}](objects []T) []T {
	out := make([]T, len(objects))
	for i, o := range objects {
		out[i] = o.DeepCopyObject().(T)
	}
	return out
}
