package cluster

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Builder compiles a cluster part by part. Templates and classes come before the nodes that refer to them; they are kept
// and must not change afterwards. Of a node nothing else is kept: its memory may be overwritten once AddNode returns.
//
// A Builder is for one goroutine.
type Builder struct {
	c      *Cluster
	taints taintLists
	kinds  map[*api.NodeClass]int32
	// unused are the places of kinds whose classes are gone, for new ones.
	unused []int32
	pods   grouping
	drafts *Drafts
	draft  Draft
	labels arena[selector.Label]
}

// NewBuilder returns a builder of an empty cluster.
func NewBuilder() *Builder {
	b := newBuilder(&Cluster{
		symbols:   intern.New(),
		kinds:     []*kind{{class: noClass}},
		Taints:    Taints{Lists: make([][]api.Taint, 1)},
		resources: &Resources{Scalars: make(map[string]*Scalar)},
		images:    make(map[string]*image),
		groupOf:   make(map[intern.ID]int32),
		byName:    make(map[intern.ID]selector.Labels),
		workloads: newWorkloads(),
	})
	b.begin()
	return b
}

// begin prepares for many nodes.
func (b *Builder) begin() {
	b.labels.chunk, b.pods.arena.chunk = 1024, 4096
	b.drafts = b.Drafts()
}

// newBuilder returns a builder that adds to c.
func newBuilder(c *Cluster) *Builder {
	b := &Builder{
		c:      c,
		taints: taintLists{lists: c.Taints.Lists},
		kinds:  make(map[*api.NodeClass]int32, len(c.kinds)),
		pods:   grouping{c: c, byPointer: make(map[*api.PodTemplate]*template), loads: loads{list: c.loads}},
		drafts: &Drafts{c: c},
	}
	for i, k := range c.kinds {
		if k != nil {
			b.kinds[k.class] = int32(i)
		} else {
			b.unused = append(b.unused, int32(i))
		}
	}
	return b
}

// Fork returns a builder to add nodes to. Everything else is what b has, to which nothing must be added any more; b has no
// nodes. Forks of one builder may be made and used at once.
func (b *Builder) Fork() *Builder {
	c := *b.c
	c.symbols = intern.Extend(c.symbols)
	c.templates = slices.Clone(c.templates)
	c.Taints.Lists = slices.Clone(c.Taints.Lists)
	c.resources = &Resources{Scalars: make(map[string]*Scalar)}
	c.groupOf = make(map[intern.ID]int32)
	c.images = make(map[string]*image, len(b.c.images))
	for name, m := range b.c.images {
		own := *m
		c.images[name] = &own
	}
	f := &Builder{c: &c, taints: taintLists{lists: c.Taints.Lists}, kinds: b.kinds}
	f.pods = grouping{c: &c, byPointer: make(map[*api.PodTemplate]*template)}
	f.begin()
	return f
}

// Grow makes room for a number of nodes more, to be added for less.
func (b *Builder) Grow(nodes int) {
	c := b.c
	c.Names, c.nameIDs, c.kindOf = slices.Grow(c.Names, nodes), slices.Grow(c.nameIDs, nodes), slices.Grow(c.kindOf, nodes)
	c.rows, c.Taints.Class = slices.Grow(c.rows, nodes), slices.Grow(c.Taints.Class, nodes)
	c.symbols.Grow(nodes)
	for _, column := range c.resources.columns() {
		*column = slices.Grow(*column, nodes)
	}
}

// AddTemplate adds a pod template behind those there are.
func (b *Builder) AddTemplate(t *api.PodTemplate) {
	b.c.stated = append(b.c.stated, t)
	b.c.templates = append(b.c.templates, b.pods.compiled(t, len(b.c.templates)))
}

// AddClass adds a node class behind those there are.
func (b *Builder) AddClass(class *api.NodeClass) {
	b.c.classes = append(b.c.classes, class)
	b.kind(class)
}

// kind returns the kind of a class, a new one if it is new.
func (b *Builder) kind(class *api.NodeClass) int32 {
	if class == nil {
		return 0
	}
	i, ok := b.kinds[class]
	if ok {
		return i
	}
	c := b.c
	if n := len(b.unused); n > 0 {
		i, b.unused = b.unused[n-1], b.unused[:n-1]
	} else {
		i = int32(len(c.kinds))
		c.kinds = append(c.kinds, nil)
	}
	c.kinds[i] = compileKind(c.symbols, class)
	b.kinds[class] = i
	eachImage(class.Images, func(name string, sizeBytes int64) { c.addKindImage(name, i, sizeBytes) })
	return i
}

// AddNamespace adds a namespace.
func (b *Builder) AddNamespace(ns api.Namespace) {
	compiled := namespace{b.c.symbols.Intern(ns.Name), selector.CompileLabels(b.c.symbols, ns.Labels)}
	b.c.namespaces = append(b.c.namespaces, compiled)
	b.c.byName[compiled.name] = compiled.labels
}

// AddWorkloadSelector adds a selector for default spreading.
func (b *Builder) AddWorkloadSelector(s api.WorkloadSelector) {
	b.c.workloads.add(b.c.symbols, &s)
}

// AddNode adds a node with its pods behind those there are. It returns the context's error if that ends first; nothing
// can be built then.
func (b *Builder) AddNode(ctx context.Context, node *api.Node) error {
	b.drafts.Prepare(&b.draft, node)
	return b.AddDraft(ctx, &b.draft, node)
}

// AddDraft is AddNode of a node that is prepared.
func (b *Builder) AddDraft(ctx context.Context, n *Draft, node *api.Node) error {
	if err := b.compile(ctx, n, node); err != nil {
		return err
	}
	b.append(n)
	return nil
}

func (b *Builder) append(n *Draft) {
	c := b.c
	i := uint32(len(c.Names))
	c.Names = append(c.Names, c.symbols.Name(n.name))
	c.nameIDs = append(c.nameIDs, n.name)
	c.kindOf = append(c.kindOf, n.kind)
	c.Taints.Class = append(c.Taints.Class, n.taints)
	c.rows = append(c.rows, n.row)
	if i%64 == 0 {
		c.Unschedulable = append(c.Unschedulable, 0)
	}
	if n.unschedulable {
		c.Unschedulable.Add(i)
	}
	for m, column := range c.resources.columns() {
		*column = append(*column, n.amounts[m])
	}
	for _, s := range n.scalars {
		c.resources.scalar(s.resource).append(i, s)
	}
	n.row.scalars = int32(len(n.scalars))
	for _, m := range n.images {
		if c.addImage(m.name, i, m.sizeBytes) {
			n.row.images++
		}
	}
}

// Build returns the cluster. The builder must not be used afterwards.
func (b *Builder) Build() *Cluster {
	c := b.c
	c.Taints.Lists, c.loads = b.taints.lists, b.pods.loads.list
	c.columns, c.counts, c.perNode = newColumns(c.Len()), newCounts(c.Len()), newPerNode(c.Len())
	c.room = &room{}
	c.gather(b.pods.sizes())
	c.indexNames()
	c.findRoles()
	return c
}

// findRoles finds the groups that matter to rules which concern few of them.
func (c *Cluster) findRoles() {
	c.terms = &groupTerms{}
	c.ports = nil
	for i := range c.groups {
		if len(c.groups[i].HostPorts) > 0 {
			c.ports = append(c.ports, i)
		}
	}
}

// indexNames makes nodes to be found by name.
func (c *Cluster) indexNames() {
	last := intern.ID(0)
	for _, id := range c.nameIDs {
		last = max(last, id)
	}
	c.index = make([]uint32, last+1)
	for i := range c.index {
		c.index[i] = noNode
	}
	for i, id := range c.nameIDs {
		c.index[id] = uint32(i)
	}
}

// gather makes the groups' members, of which it is told the numbers, from the nodes' rows.
func (c *Cluster) gather(sizes []int) {
	total := 0
	first := make([]int, len(sizes)) // where a group's members begin
	for g, size := range sizes {
		first[g] = total
		total += size
	}
	nodes := make([]uint32, total)
	for g, from := range first {
		to := from + sizes[g]
		c.groups[g].Nodes, c.groups[g].Counts = nodes[from:to:to], nil
	}
	next := slices.Clone(first)
	for i, r := range c.rows {
		for _, p := range r.pods {
			at := next[p.group]
			nodes[at] = uint32(i)
			next[p.group]++
			if p.count != 1 {
				c.groups[p.group].setCount(at-first[p.group], p.count)
			}
		}
	}
}

// arena hands out slices of larger allocations, of chunk values or, where that is less, of as many as are asked for.
type arena[T any] struct {
	free  []T
	chunk int
}

// take returns an empty slice with room for n values. What is used of it must be kept before the next is taken.
func (a *arena[T]) take(n int) []T {
	if n > len(a.free) {
		a.free = make([]T, max(n, a.chunk))
	}
	return a.free[:0:n]
}

// keep returns s, which is what was taken last, with as much room as it has values.
func (a *arena[T]) keep(s []T) []T {
	a.free = a.free[len(s):]
	return slices.Clip(s)
}
