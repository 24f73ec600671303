package engine

// PodsOn returns how many pods are on a node.
func (c *Cluster) PodsOn(node uint32) int64 { return c.compiled.PodsOn(node) }
