package cluster

// PodsOn returns how many pods are on a node.
func (c *Cluster) PodsOn(node uint32) int64 { return c.resources.Pods[node] }
