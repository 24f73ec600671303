package live

// Since reports what events have changed since a version: any field that decisions read, and a node or the pods on it. A
// decision made at that version may then not hold any more. Assumed and forgotten pods are no changes in this sense, and
// neither is an event that confirms an assumed pod. A node that is gone has changed.
func (c *Cluster) Since(version uint64, node string) (anything, there bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	n := c.model.nodes[node]
	return c.model.told > version, n == nil || n.stated == nil || n.told > version
}
