package change

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// graded is a rule that allows a node as soon as some of the pods in its domain have left: a spread constraint, or a rule of a kind
// that its plugin defines.
type graded struct {
	rule.Counter
	column *topology.Column // nil: each node is a domain
	added  func([]cluster.Nominated) int64
	// domains are the nodes of each domain; nil until known, and without a column.
	domains [][]uint32
}

func gradedIn(s *rule.Set) []graded {
	var all []graded
	for _, r := range s.Spread {
		all = append(all, graded{Counter: r, column: r.Column, added: r.Added})
	}
	for _, k := range s.Others {
		added := func(pods []cluster.Nominated) (weight int64) {
			for i := range pods {
				weight += k.Weight(pods[i].Group)
			}
			return weight
		}
		all = append(all, graded{Counter: k, column: k.Column(), added: added})
	}
	return all
}

// excess returns the excess of a node with the pods that are nominated to it.
func (g *graded) excess(node uint32, nominated []cluster.Nominated) int64 {
	return g.Excess(node, g.added(nominated))
}

// gives returns what a pod on a node takes off the excess of a target when it leaves.
func (g *graded) gives(pod *cluster.Group, from, target uint32) int64 {
	if !g.counts(from, target) {
		return 0
	}
	return g.Weight(pod)
}

// counts reports whether pods on a node count in the domain of a target.
func (g *graded) counts(from, target uint32) bool {
	domain, in := g.Domain(from)
	return in && domain == g.domainOf(target)
}

// domainOf returns the domain that decides about a node.
func (g *graded) domainOf(node uint32) int32 {
	if g.column == nil {
		return int32(node)
	}
	return g.column.Domain[node]
}

// nodes returns the nodes in the domain of a node.
func (g *graded) nodes(s *cluster.State, node uint32) []uint32 {
	if g.column == nil {
		return []uint32{node}
	}
	if g.domains == nil {
		g.domains = g.column.Nodes(nodeset.Full(s.Len()))
	}
	return g.domains[g.domainOf(node)]
}
