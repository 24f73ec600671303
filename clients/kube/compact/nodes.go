package compact

import (
	"cmp"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Nodes replaces common properties of nodes by node classes where that saves bytes. The nodes must not have classes; they
// are not modified, and the result shares messages with them. Classes are in the order of their first nodes.
//
// A class has a label, a resource, the taints, the declared features or the CSINode for all of its nodes or for none. Nodes is greedy: all nodes start as one class, and the
// property with the largest savings relative to its number of values comes first. A property moves into the classes if the nodes save
// more bytes than the additional classes take. Labels that differ on nearly every node thus stay with the nodes, and so do labels that
// would multiply classes. Nodes takes time linear in the nodes' properties.
func Nodes(nodes []*stowagev1.Node) ([]*stowagev1.Node, []*stowagev1.NodeClass) {
	p := partition{of: make([]int, len(nodes)), groups: []group{{nodes: len(nodes)}}}
	shared := map[fact]bool{}
	for _, c := range columns(nodes) {
		if p.refine(c) {
			for _, f := range c.facts {
				shared[f] = true
			}
		}
	}
	members := make([][]int, len(p.groups))
	for i, g := range p.of {
		members[g] = append(members[g], i)
	}
	sets := make([]*set, len(nodes))
	for g, of := range members {
		for _, s := range withImages(nodes, of, p.groups[g].bytes) {
			for _, i := range s.members {
				sets[i] = s
			}
		}
	}
	out, classes := make([]*stowagev1.Node, len(nodes)), []*stowagev1.NodeClass(nil)
	for i, n := range nodes {
		s := sets[i]
		if !s.pays() {
			out[i] = n
			continue
		}
		if s.class == nil {
			index := uint32(len(classes))
			s.class = &index
			classes = append(classes, s.nodeClass(n, shared))
		}
		out[i] = s.node(n, shared)
	}
	return out, classes
}

// The fixed size of a class, and of a node's reference to it, in bytes.
const (
	classBytes = 3
	indexBytes = 3
)

// group is a candidate class: its number of nodes, and the size of the class.
type group struct {
	nodes, bytes int
}

// cost is the size of the shared properties in the smaller of the two encodings.
func (g group) cost() int {
	return min(g.nodes*g.bytes, classBytes+g.bytes+g.nodes*indexBytes)
}

func (g group) pays() bool {
	return g.cost() < g.nodes*g.bytes
}

// partition divides nodes into groups.
type partition struct {
	of     []int // by node, the index of its group
	groups []group
}

// refine divides groups by the nodes' values in a column, unless that takes more bytes.
func (p *partition) refine(c *column) bool {
	type part struct{ group, value int }
	index, moves := map[part]int{}, make([]int, len(c.entries))
	var parts []part
	var made []group
	for i, e := range c.entries {
		at := part{p.of[e.node], e.value}
		to, ok := index[at]
		if !ok {
			to = len(made)
			index[at] = to
			parts = append(parts, at)
			made = append(made, group{bytes: p.groups[at.group].bytes + c.classBytes[at.value]})
		}
		made[to].nodes++
		moves[i] = to
	}
	change, left := -c.nodeBytes, map[int]group{}
	for i, g := range made {
		change += g.cost()
		from := parts[i].group
		rest, ok := left[from]
		if !ok {
			rest = p.groups[from]
		}
		rest.nodes -= g.nodes
		left[from] = rest
	}
	for i, rest := range left {
		change += rest.cost() - p.groups[i].cost()
	}
	if change > 0 {
		return false
	}
	for i, rest := range left {
		p.groups[i] = rest
	}
	for i, e := range c.entries {
		p.of[e.node] = len(p.groups) + moves[i]
	}
	p.groups = append(p.groups, made...)
	return true
}

// column is properties that differ between nodes in the same way, such as a label with two keys.
type column struct {
	facts   []fact
	entries []entry // in the order of the nodes
	// classBytes is the size of the column in a class, by value.
	classBytes []int
	// nodeBytes is the size of the column in all the nodes.
	nodeBytes int
}

type entry struct {
	node  int
	value int // numbered in the order of first use
}

// columns gathers the nodes' properties in the order in which classes should take them.
func columns(nodes []*stowagev1.Node) []*column {
	type numbered struct {
		column
		values map[value]int
	}
	byFact := map[fact]*numbered{}
	for i, n := range nodes {
		each(n, func(f fact, v value, inNode, inClass int) {
			c := byFact[f]
			if c == nil {
				c = &numbered{column: column{facts: []fact{f}}, values: map[value]int{}}
				byFact[f] = c
			}
			number, ok := c.values[v]
			if !ok {
				number = len(c.values)
				c.values[v] = number
				c.classBytes = append(c.classBytes, inClass)
			}
			c.entries = append(c.entries, entry{i, number})
			c.nodeBytes += inNode
		})
	}
	alike := map[string]*column{}
	for f, c := range byFact {
		var key []byte
		for _, e := range c.entries {
			key = protowire.AppendVarint(protowire.AppendVarint(key, uint64(e.node)), uint64(e.value))
		}
		same, ok := alike[string(key)]
		if !ok {
			alike[string(key)] = &c.column
			continue
		}
		same.facts = append(same.facts, f)
		same.nodeBytes += c.nodeBytes
		for v, bytes := range c.classBytes {
			same.classBytes[v] += bytes
		}
	}
	out := make([]*column, 0, len(alike))
	for _, c := range alike {
		slices.SortFunc(c.facts, fact.compare)
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *column) int {
		return cmp.Or(cmp.Compare(b.worth(len(nodes)), a.worth(len(nodes))), a.facts[0].compare(b.facts[0]))
	})
	return out
}

// worth is the bytes saved in relation to the factor by which classes may multiply.
func (c *column) worth(nodes int) float64 {
	values := len(c.classBytes)
	if len(c.entries) < nodes {
		values++
	}
	return float64(c.nodeBytes) / math.Log(float64(values))
}
