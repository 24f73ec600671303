package live

// Since reports what events have changed since a version: any field that decisions read, and a node or the pods on it. Such a
// change may make a decision at that version outdated. Assuming, forgetting and confirming pods are no changes in this sense;
// deleting the node is one.
func (c *Cluster) Since(version uint64, node string) (anything, there bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	n := c.model.nodes[node]
	return c.model.eventVersion > version, n == nil || n.message == nil || n.eventVersion > version
}
