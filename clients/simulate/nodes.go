package simulate

import (
	"fmt"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Nodes is a set of candidate nodes. Pods on other nodes still count for topology, as in kube-scheduler. nil is all nodes.
type Nodes struct {
	order   *order
	indexes []uint32
}

// Nodes returns a set of nodes. It is cheapest for snapshots with the nodes of s, and valid for every snapshot that has its nodes.
func (s *Snapshot) Nodes(names ...string) (*Nodes, error) {
	out := &Nodes{order: s.now.order, indexes: make([]uint32, 0, len(names))}
	for _, name := range names {
		i, ok := out.order.index(name)
		if !ok {
			return nil, fmt.Errorf("there is no node %q", name)
		}
		out.indexes = append(out.indexes, i)
	}
	return out, nil
}

// Len is the number of nodes, including repeated ones.
func (n *Nodes) Len() int { return len(n.indexes) }

// Names returns the names of the nodes.
func (n *Nodes) Names() []string { return n.order.named(n.indexes) }

func (o *order) named(indexes []uint32) []string {
	out := make([]string, len(indexes))
	for i, at := range indexes {
		out[i] = o.names[at]
	}
	return out
}

// candidates returns the nodes of a request, nil for all.
func (s *Snapshot) candidates(n *Nodes) (*stowagev1.CandidateNodes, error) {
	if n == nil {
		return nil, nil
	}
	if n.order != s.now.order {
		var err error
		if n, err = s.Nodes(n.Names()...); err != nil {
			return nil, err
		}
	}
	return &stowagev1.CandidateNodes{Indexes: n.indexes}, nil
}
