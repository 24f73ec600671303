package cluster

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// With returns the cluster that a change turns c into. c stays as it is; the two share what the change does not touch.
// Of the change's nodes nothing is kept. It returns the context's error if that ends first.
func (c *Cluster) With(ctx context.Context, change *api.Change) (*Cluster, error) {
	e := newEdit(c)
	e.restate(change)
	for i := range change.Replaced {
		r := &change.Replaced[i]
		e.drafts.Prepare(&e.draft, &r.Node)
		if err := e.compile(ctx, &e.draft, &r.Node); err != nil {
			return nil, err
		}
		e.replace(r.Index)
	}
	if len(change.Removed) > 0 {
		e.remove(change.Removed)
	}
	if len(change.Added) > 0 {
		e.ownNodes()
		e.Grow(len(change.Added))
	}
	for i := range change.Added {
		e.drafts.Prepare(&e.draft, &change.Added[i])
		if err := e.compile(ctx, &e.draft, &change.Added[i]); err != nil {
			return nil, err
		}
		e.add()
	}
	return e.finish(), ctx.Err()
}

// edit is a cluster in the making that still shares with its base what has not changed.
type edit struct {
	*Builder
	base *Cluster
	// own is what of c is no longer the base's.
	own struct {
		rows, names, images, scalars bool

		image, scalar map[string]bool // those of images and of scalars
	}
	// relabelled are the nodes that have other labels than before.
	relabelled []uint32
	// moved says that nodes have come or gone, renumbered that some have gone.
	moved, renumbered bool
	// recounts are the differences in numbers of pods from the base, of use unless renumbered.
	recounts []recount
}

func newEdit(base *Cluster) *edit {
	c := *base
	c.symbols = intern.Extend(base.symbols)
	c.kinds = slices.Clone(base.kinds)
	c.templates = slices.Clone(base.templates)
	c.Taints.Lists, c.loads = slices.Clip(base.Taints.Lists), slices.Clip(base.loads)
	c.free = slices.Clone(base.free)
	c.groups = slices.Clone(base.groups)
	e := &edit{Builder: newBuilder(&c), base: base}
	e.pods.base = base
	e.own.scalar, e.own.image = make(map[string]bool), make(map[string]bool)
	return e
}

// restate takes over what is stated outside of nodes.
func (e *edit) restate(change *api.Change) {
	c := e.c
	if len(change.Templates) > 0 {
		c.stated = slices.Clone(c.stated)
	}
	for _, t := range change.Templates {
		if t.Index == len(c.stated) {
			e.AddTemplate(t.Template)
		} else {
			c.stated[t.Index], c.templates[t.Index] = t.Template, e.pods.compiled(t.Template, t.Index)
		}
	}
	if len(change.Classes) > 0 {
		c.classes = slices.Clone(c.classes)
		for _, class := range change.Classes {
			if class.Index == len(c.classes) {
				c.classes = append(c.classes, class.Class)
			} else {
				c.classes[class.Index] = class.Class
			}
		}
		e.reclassify()
	}
	if change.Namespaces != nil {
		c.namespaces, c.byName = nil, make(map[intern.ID]selector.Labels, len(change.Namespaces))
		for _, ns := range change.Namespaces {
			e.AddNamespace(ns)
		}
	}
	if change.WorkloadSelectors != nil {
		c.workloads = newWorkloads()
		for _, s := range change.WorkloadSelectors {
			e.AddWorkloadSelector(s)
		}
	}
}

// reclassify forgets the kinds whose classes are gone and compiles those that are new.
func (e *edit) reclassify() {
	c := e.c
	stays := make(map[*api.NodeClass]bool, len(c.classes))
	for _, class := range c.classes {
		stays[class] = true
	}
	theirs := make(map[*image]struct{})
	for i, k := range c.kinds {
		if k == nil || k.class == noClass || stays[k.class] {
			continue
		}
		eachImage(k.class.Images, func(name string, _ int64) { theirs[e.image(name)] = struct{}{} })
		delete(e.kinds, k.class)
		c.kinds[i] = nil
		e.unused = append(e.unused, int32(i))
	}
	for m := range theirs {
		kept := m.kinds[:0]
		for j, k := range m.kinds {
			if c.kinds[k] != nil {
				m.kindSizes[len(kept)] = m.kindSizes[j]
				kept = append(kept, k)
			}
		}
		m.kinds, m.kindSizes = kept, m.kindSizes[:len(kept)]
	}
	for _, class := range c.classes {
		if _, known := e.kinds[class]; !known {
			eachImage(class.Images, func(name string, _ int64) { e.image(name) })
			e.kind(class)
		}
	}
}

// replace puts the draft in a node's place.
func (e *edit) replace(i uint32) {
	c, n := e.c, &e.draft
	before := c.rows[i]
	if !e.own.rows {
		e.own.rows = true
		c.rows = slices.Clone(c.rows)
	}
	c.rows[i] = n.row
	if n.name != c.nameIDs[i] {
		if !e.own.names {
			e.own.names = true
			c.Names, c.nameIDs = slices.Clone(c.Names), slices.Clone(c.nameIDs)
		}
		c.Names[i], c.nameIDs[i] = c.symbols.Name(n.name), n.name
	}
	if n.name != e.base.nameIDs[i] || c.kinds[n.kind] != e.base.kinds[e.base.kindOf[i]] || !slices.Equal(n.row.labels, before.labels) {
		e.relabelled = append(e.relabelled, i)
	}
	set(&c.kindOf, e.base.kindOf, i, n.kind)
	set(&c.Taints.Class, e.base.Taints.Class, i, n.taints)
	if n.unschedulable != c.Unschedulable.Has(i) {
		c.Unschedulable = c.Unschedulable.Clone()
		if n.unschedulable {
			c.Unschedulable.Add(i)
		} else {
			c.Unschedulable.Remove(i)
		}
	}
	e.ownResources()
	shared := e.base.resources.columns()
	for m, column := range c.resources.columns() {
		set(column, *shared[m], i, n.amounts[m])
	}
	e.replaceScalars(i, before.scalars, n.scalars)
	n.row.scalars = int32(len(n.scalars))
	n.row.images = e.replaceImages(i, before.images, n.images)
	for _, p := range before.pods {
		e.recounts = append(e.recounts, recount{p.group, i, -p.count})
	}
	for _, p := range n.row.pods {
		e.recounts = append(e.recounts, recount{p.group, i, p.count})
	}
}

// set sets a node's value in a column. One that is still the base's is copied first.
func set[T comparable](column *[]T, base []T, i uint32, v T) {
	if (*column)[i] == v {
		return
	}
	if &(*column)[0] == &base[0] {
		*column = slices.Clone(*column)
	}
	(*column)[i] = v
}

func (e *edit) ownResources() {
	if e.c.resources == e.base.resources {
		r := *e.base.resources
		e.c.resources = &r
	}
}

// finish returns the cluster.
func (e *edit) finish() *Cluster {
	c := e.c
	c.Taints.Lists, c.loads = e.taints.lists, e.pods.loads.list
	for resource := range e.own.scalar {
		if len(c.resources.Scalars[resource].Nodes) == 0 {
			delete(c.resources.Scalars, resource)
		}
	}
	for name := range e.own.image {
		if m := c.images[name]; len(m.nodes)+len(m.kinds) == 0 {
			delete(c.images, name)
		}
	}
	samePods := !e.regroup()
	sameLabels := !e.moved && len(e.relabelled) == 0
	if e.moved || e.own.names {
		c.indexNames()
	}
	// Clusters with one base give strings of their own the same ids, so only those without any may share a memo.
	sameStrings := c.symbols.Len() == e.base.symbols.Len()
	c.symbols = c.symbols.Settled()
	if !sameStrings || !sameLabels {
		c.columns = newColumns(c.Len())
		if !e.moved {
			c.columns.Carry(e.base.columns, e.sameColumn, (*topology.Column).Bytes)
		}
	}
	if !sameStrings || !sameLabels || !samePods {
		c.counts = newCounts(c.Len())
	}
	if c.resources != e.base.resources {
		c.perNode = newPerNode(c.Len())
		c.room = &room{}
	}
	return c
}

// sameColumn reports whether every node has the same value under a key as in the base.
func (e *edit) sameColumn(key intern.ID) bool {
	return !slices.ContainsFunc(e.relabelled, func(i uint32) bool {
		was, had := e.base.label(i, key)
		is, has := e.c.label(i, key)
		return was != is || had != has
	})
}
