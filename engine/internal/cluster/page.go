package cluster

import (
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// PageNodes is the number of nodes on a page of a column, which is the number of nodes in a word of a nodeset.Set.
const PageNodes = 64

// paged is pages that several owners share, for 64 nodes each. An owner copies a page before it changes it.
type paged[P any] struct {
	pages []*P
	own   nodeset.Set // the pages that are the owner's alone; nil as long as the list itself is shared
	free  []P         // are neighbours in memory, which makes it faster to read all pages
	more  int         // pages that grow promised, and that are not yet added
}

// share lets another owner use the pages, too. The first owner must not change them afterwards.
func (p *paged[P]) share() { *p = paged[P]{pages: slices.Clip(p.pages)} }

// edit returns the page of a node, which its owner may change.
func (p *paged[P]) edit(node uint32) *P {
	p.ownList()
	i := node / PageNodes
	if !p.own.Has(i) {
		p.pages[i] = &append([]P(nil), *p.pages[i])[0] // new would clear the memory first
		p.own.Add(i)
	}
	return p.pages[i]
}

// add appends an empty page.
func (p *paged[P]) add() {
	p.ownList()
	i := uint32(len(p.pages))
	if len(p.free) == 0 {
		p.free = make([]P, min(max(1, p.more), mostFree))
	}
	p.more--
	p.pages, p.free = append(p.pages, &p.free[0]), p.free[1:]
	for len(p.own) <= int(i/64) {
		p.own = append(p.own, 0)
	}
	p.own.Add(i)
}

// grow promises a number of pages.
func (p *paged[P]) grow(n int) { p.more = n }

// mostFree is how many pages are allocated at a time, at most: they stay in memory as long as one of them does.
const mostFree = 64

// cut keeps the first n pages.
func (p *paged[P]) cut(n int) {
	p.ownList()
	p.pages, p.own = p.pages[:n], p.own[:(n+63)/64].Cut(n)
}

// ownList copies the list of pages unless that happened before.
func (p *paged[P]) ownList() {
	if p.own == nil {
		p.pages, p.own = slices.Clone(p.pages), nodeset.New(len(p.pages))
	}
}

// bytes is the memory of the pages.
func (p *paged[P]) bytes() int {
	return cap(p.pages)*sizeOf[*P]() + (len(p.pages)+len(p.free))*p.pageBytes()
}

// pageBytes is the memory of a page.
func (p *paged[P]) pageBytes() int { return sizeOf[P]() }

// pages is what all columns have in common, whatever they hold.
type pages interface {
	share()
	grow(n int)
	add()
	// move copies the values of n nodes to others. Both are nodes of one page.
	move(to, from, n uint32)
	cut(n int)
	bytes() int
	pageBytes() int
}

// column has a value of each node.
type column[T any] struct{ paged[[PageNodes]T] }

// at returns a value, which must not be changed.
func (c *column[T]) at(node uint32) *T { return &c.pages[node/PageNodes][node%PageNodes] }

// to returns a value to be changed.
func (c *column[T]) to(node uint32) *T { return &c.paged.edit(node)[node%PageNodes] }

func (c *column[T]) move(to, from, n uint32) {
	page, at := c.paged.edit(to), from%PageNodes
	copy(page[to%PageNodes:], c.pages[from/PageNodes][at:at+n])
}

// set sets a value. It copies no page that has it already.
func set[T comparable](c *column[T], node uint32, v T) {
	if *c.at(node) != v {
		*c.to(node) = v
	}
}

// list is a list in pages that clusters share.
type list[T any] struct {
	column[T]
	n int
}

func (l *list[T]) len() int { return l.n }

// get returns a value, which must not be changed.
func (l *list[T]) get(i int) *T { return l.at(uint32(i)) }

// edit returns a value to be changed.
func (l *list[T]) edit(i int) *T { return l.to(uint32(i)) }

// shared returns the list for another owner. Both copy a page before they change it.
func (l *list[T]) shared() list[T] {
	return list[T]{column: column[T]{paged[[PageNodes]T]{pages: slices.Clip(l.pages)}}, n: l.n}
}

// append adds a value.
func (l *list[T]) append(v T) {
	if l.n%PageNodes == 0 {
		l.add()
	}
	l.n++
	*l.edit(l.n - 1) = v
}

// columns has what nodes have, except their names, their amounts and what only some of them have.
type columns struct {
	kind   column[int32] // index in Cluster.kinds
	rows   column[row]
	fields []numbered
}

// row is the lists of a node.
type row struct {
	name   intern.ID
	labels selector.Labels // of the node itself, without the labels of its class
	pods   []podsOf        // in the order of the input, each group once
	named  []NamedPod      // in the order of the input

	scalars, images int32 // number of entries in Resources.Scalars and Cluster.images
}

// podsOf is the number of a group's pods on a node.
type podsOf struct{ group, count int32 }

// row returns the lists of a node. They must not be changed.
func (c *Cluster) row(node uint32) *row { return c.rows.at(node) }

// kindAt returns the kind of a node.
func (c *Cluster) kindAt(node uint32) *kind { return c.kinds[*c.kind.at(node)] }

// paged iterates over the columns of nodes.
func (c *Cluster) paged() iter.Seq[pages] {
	return func(yield func(pages) bool) {
		if !yield(&c.kind) || !yield(&c.rows) || !yield(&c.resources.words) {
			return
		}
		for _, f := range c.fields {
			if !yield(f) {
				return
			}
		}
	}
}

// put sets everything that the columns have of a node. The node is one of the builder's nodes, or the next one.
func (b *Builder) put(node uint32, n *Draft) {
	c := b.c
	if int(node) == len(c.Names) {
		if c.Names = append(c.Names, ""); node%PageNodes == 0 {
			for p := range c.paged() {
				p.add()
			}
			c.Unschedulable = append(c.Unschedulable, 0)
		}
	}
	if name := c.symbols.Name(n.row.name); c.Names[node] != name {
		if len(b.base.Names) > 0 && &c.Names[0] == &b.base.Names[0] {
			c.Names = slices.Clone(c.Names)
		}
		c.Names[node] = name
	}
	set(&c.kind, node, n.kind)
	for i, f := range c.fields {
		set(f.numbers(), node, n.numbers[i])
	}
	if int(node) < b.base.Len() {
		b.touched = append(b.touched, node)
	}
	*c.rows.to(node) = n.row
	c.resources.words.edit(node).put(node, &n.amounts)
	if n.unschedulable {
		c.Unschedulable.Add(node)
	} else {
		c.Unschedulable.Remove(node)
	}
}

// get returns the node that put has set. Scalars, images and nominated pods are not in these columns.
func (c *Cluster) get(node uint32, n *Draft) {
	*n = Draft{scalars: n.scalars[:0], images: n.images[:0], numbers: n.numbers[:0]}
	n.kind, n.row = *c.kind.at(node), *c.row(node)
	for _, f := range c.fields {
		n.numbers = append(n.numbers, *f.numbers().at(node))
	}
	n.amounts = c.resources.words.pages[node/PageNodes].get(node)
	n.unschedulable = c.Unschedulable.Has(node)
}
