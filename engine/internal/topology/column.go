// Package topology divides nodes into domains and counts pods per domain.
//
// A topology key is the key of a node label. The nodes with one value of the label are a domain. A Column holds the domain
// of each node as a dense number, so that counts by domain are an array.
package topology

import (
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// None is the domain of nodes that lack the key.
const None = 0

// Column is the nodes' domains under one key. It is immutable once built.
type Column struct {
	// Domain holds each node's domain, None if it lacks the key.
	Domain []int32
	// Values holds each domain's label value; Values[None] is no value.
	Values []intern.ID
	// Empty is the domain of the empty label value, None if no node has that.
	Empty int32
	// Having is the nodes that have the key.
	Having nodeset.Set

	each bool          // see Each
	sets []nodeset.Set // the nodes by domain; nil unless there are few domains
}

// Build builds the column of a label from its values by node, which are ids below symbols. Domains are numbered in the
// order of their first nodes.
func Build(nodes, symbols int, label func(node uint32) (value intern.ID, present bool)) *Column {
	c := &Column{Domain: make([]int32, nodes), Values: make([]intern.ID, 1), Having: nodeset.New(nodes)}
	domains := make([]int32, symbols) // by value
	for i := range c.Domain {
		v, ok := label(uint32(i))
		if !ok {
			continue
		}
		d := domains[v]
		if d == None {
			d = int32(len(c.Values))
			domains[v] = d
			c.Values = append(c.Values, v)
		}
		c.Domain[i] = d
		c.Having.Add(uint32(i))
	}
	c.Empty = domains[0]
	c.findNodes()
	return c
}

// Nowhere returns the column of a key that no node has.
func Nowhere(nodes int) *Column {
	return &Column{Domain: make([]int32, nodes), Values: make([]intern.ID, 1), Having: nodeset.New(nodes)}
}

// Everywhere returns a column with all nodes in one domain, which no label states.
func Everywhere(nodes int) *Column {
	c := &Column{Domain: make([]int32, nodes), Values: make([]intern.ID, 2), Having: nodeset.Full(nodes)}
	for i := range c.Domain {
		c.Domain[i] = None + 1
	}
	c.findNodes()
	return c
}

// Len returns the number of domains, None included.
func (c *Column) Len() int { return len(c.Values) }

// Bytes is the memory of the column.
func (c *Column) Bytes() int64 {
	return int64(4*(cap(c.Domain)+cap(c.Values)) + 8*cap(c.Having)*(1+len(c.sets)) + 24*cap(c.sets))
}
