package topology

import "github.com/stowage-scheduler/stowage/engine/internal/nodeset"

// few is the number of domains up to which a column holds the nodes of each.
const few = 32

// findNodes prepares finding the nodes of domains where each node is a domain or there are few domains.
func (c *Column) findNodes() {
	nodes := len(c.Domain)
	if c.each = c.Len() == nodes+1; c.each || c.Len() > few {
		return
	}
	words := len(c.Having)
	c.sets = make([]nodeset.Set, c.Len())
	all := make(nodeset.Set, words*c.Len())
	for d := range c.sets {
		c.sets[d] = all[d*words : (d+1)*words]
	}
	for n, d := range c.Domain {
		c.sets[d].Add(uint32(n))
	}
}

// Where returns the nodes of the domains d for which table[d] is 1; the other entries must be 0.
func (c *Column) Where(table []uint8) nodeset.Set {
	switch {
	case c.each:
		return nodeset.OfTable(table[1:])
	case c.sets == nil:
		return nodeset.Where(c.Domain, table)
	}
	nodes := nodeset.New(len(c.Domain))
	for d, set := range c.sets {
		if table[d] == 1 {
			nodes.Or(set)
		}
	}
	return nodes
}

// Inhabited returns the nodes of the domains with pods, except None; nil for no such domain.
func (c *Column) Inhabited(members []Members) nodeset.Set {
	if c.each {
		return On(len(c.Domain), members)
	}
	table := make([]uint8, c.Len())
	found := false
	for i := range members {
		found = Mark(table, c, members[i]) || found
	}
	if !found {
		return nil
	}
	return c.Where(table)
}

// On returns the nodes with pods, out of a number of nodes; nil for none.
func On(nodes int, members []Members) nodeset.Set {
	set := nodeset.New(nodes)
	for i := range members {
		m := &members[i]
		for j, n := range m.Nodes {
			if m.Count(j) > 0 {
				set.Add(n)
			}
		}
		for _, n := range m.Assumed {
			set.Add(n)
		}
	}
	if set.Empty() {
		return nil
	}
	return set
}

// Each reports whether each node is a domain: node n is domain n+1.
func (c *Column) Each() bool { return c.each }

// Nodes returns the given nodes by domain, ascending.
func (c *Column) Nodes(in nodeset.Set) [][]uint32 {
	nodes := make([][]uint32, c.Len())
	for i := range in.All() {
		nodes[c.Domain[i]] = append(nodes[c.Domain[i]], i)
	}
	return nodes
}

// Present reports by domain whether it has any of the given nodes.
func (c *Column) Present(in nodeset.Set) []bool {
	present := make([]bool, c.Len())
	if c.sets != nil {
		for d, set := range c.sets {
			present[d] = set.Meets(in)
		}
		return present
	}
	for n := range in.All() {
		present[c.Domain[n]] = true
	}
	return present
}
