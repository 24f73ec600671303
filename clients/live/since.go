package live

// Since tells what events have changed since a version: anything that decisions read, and a node or the pods on it. What was
// decided at that version may not hold any more then. Pods that are assumed or forgotten change nothing in this sense, nor
// does an event that shows a pod where it is assumed. A node that is not there has changed.
func (c *Cluster) Since(version uint64, node string) (anything, there bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	n := c.model.nodes[node]
	return c.model.told > version, n == nil || n.stated == nil || n.told > version
}
