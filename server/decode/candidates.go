package decode

import (
	"slices"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// nodeCalled returns the index of the node with a name.
func (d *decoder) nodeCalled(name string) (uint32, bool) {
	if d.base != nil {
		return d.base.Node(name)
	}
	return d.content.Lookup(name)
}

// candidates decodes the nodes to consider, by index and by name, in ascending order without duplicates. Nil
// stays nil, which stands for every node; an empty list is no node.
func (d *decoder) candidates(in *stowagev1.CandidateNodes) []uint32 {
	if in == nil {
		return nil
	}
	at := path{name: "candidate_nodes"}
	out := make([]uint32, 0, len(in.GetIndexes())+len(in.GetNames()))
	nodes := d.nodes
	if d.base != nil {
		nodes = d.base.Len()
	}
	for i, n := range in.GetIndexes() {
		if uint64(n) >= uint64(nodes) {
			d.refuse(at.item("indexes", i), "is %d, but cluster.nodes has %d entries", n, nodes)
		}
		out = append(out, n)
	}
	for i, name := range in.GetNames() {
		n, ok := d.nodeCalled(name)
		if !ok {
			d.refuse(at.item("names", i), "no node is called %s", quote(name))
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
