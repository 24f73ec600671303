package cluster

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// With returns the cluster that results from a change. c stays unchanged; the clusters share what the change does not
// affect. With keeps nothing of the change's nodes. If the context ends first, it returns the context's error.
func (c *Cluster) With(ctx context.Context, change *api.Change) (*Cluster, error) {
	b := derive(c)
	b.restate(change)
	for i := range change.Replaced {
		if err := b.replace(ctx, &change.Replaced[i]); err != nil {
			return nil, err
		}
	}
	if len(change.Removed) > 0 {
		b.remove(change.Removed)
	}
	if len(change.Added) > 0 {
		b.Grow(len(change.Added))
	}
	for i := range change.Added {
		if err := b.AddNode(ctx, &change.Added[i]); err != nil {
			return nil, err
		}
	}
	return b.Build(), ctx.Err()
}

// restate applies the parts of a change that are not nodes.
func (b *Builder) restate(change *api.Change) {
	c := b.c
	if len(change.Templates) > 0 {
		c.stated = slices.Clone(c.stated)
	}
	for _, t := range change.Templates {
		if t.Index == len(c.stated) {
			b.AddTemplate(t.Template)
		} else {
			c.stated[t.Index], c.templates[t.Index] = t.Template, b.pods.compiled(t.Template, t.Index)
		}
	}
	if len(change.Classes) > 0 {
		c.classes = slices.Clone(c.classes)
	}
	for _, class := range change.Classes {
		if class.Index == len(c.classes) {
			c.classes = append(c.classes, class.Class)
		} else {
			c.classes[class.Index] = class.Class
		}
	}
	if len(change.Classes) > 0 {
		b.reclassify()
	}
	if change.Namespaces != nil {
		c.namespaces, c.byName = nil, make(map[intern.ID]selector.Labels, len(change.Namespaces))
		for _, ns := range change.Namespaces {
			b.AddNamespace(ns)
		}
	}
	if change.WorkloadSelectors != nil {
		c.workloads = newWorkloads()
		for _, s := range change.WorkloadSelectors {
			b.AddWorkloadSelector(s)
		}
	}
	if change.PodGroups != nil {
		c.podGroups = podGroups{}
		for _, g := range change.PodGroups {
			b.AddPodGroup(g)
		}
	}
	if change.Budgets != nil {
		c.budgets = Budgets{}
		for _, p := range change.Budgets {
			b.AddPodDisruptionBudget(p)
		}
	}
}

// reclassify drops the kinds of removed classes and compiles those of new ones.
func (b *Builder) reclassify() {
	stays := make(map[*api.NodeClass]bool, len(b.c.classes))
	for _, class := range b.c.classes {
		stays[class] = true
		b.kind(class)
	}
	for i, k := range b.c.kinds {
		if k != nil && k.class != noClass && !stays[k.class] {
			delete(b.kinds, k.class)
			b.c.kinds[i] = nil
		}
	}
}

// replace replaces a node of the base.
func (b *Builder) replace(ctx context.Context, r *api.Replacement) error {
	b.prepare(&b.draft, &r.Node)
	if err := b.compile(ctx, &b.draft, &r.Node); err != nil {
		return err
	}
	c, base, n, i := b.c, b.base, &b.draft, r.Index
	before := base.rows[i]
	if n.name != base.nameIDs[i] || c.kinds[n.kind] != base.kinds[base.kindOf[i]] || !slices.Equal(n.row.labels, before.labels) {
		b.relabelled = append(b.relabelled, i)
	}
	set(&c.rows, base.rows, i, n.row)
	set(&c.Names, base.Names, i, c.symbols.Name(n.name))
	set(&c.nameIDs, base.nameIDs, i, n.name)
	set(&c.kindOf, base.kindOf, i, n.kind)
	set(&c.Taints.Class, base.Taints.Class, i, n.taints)
	if n.unschedulable {
		c.Unschedulable.Add(i)
	} else {
		c.Unschedulable.Remove(i)
	}
	shared := base.resources.columns()
	for m, column := range c.resources.columns() {
		set(column, *shared[m], i, n.amounts[m])
	}
	n.row.scalars = b.scalars.replace(i, before.scalars, n.scalars)
	n.row.images = b.images.replace(i, before.images, n.images)
	b.nominees.replace(i, b.nominees.has(nomineesColumn, i), n.nominees())
	b.replaced = true
	b.recount(i, before.pods, -1)
	b.recount(i, n.row.pods, 1)
	return nil
}

// set sets a node's value in a column. It copies a column that is still the base's.
func set[T comparable](column *[]T, base []T, i uint32, v T) {
	if (*column)[i] == v {
		return
	}
	if &(*column)[0] == &base[0] {
		*column = slices.Clone(base)
	}
	(*column)[i] = v
}

// remove removes nodes, ascending. Later nodes move up.
func (b *Builder) remove(nodes []uint32) {
	c := b.c
	b.removed = true
	now := make([]uint32, c.Len()) // new index by old
	var cordoned []uint32
	for i, next, rest := uint32(0), uint32(0), nodes; int(i) < len(now); i++ {
		if len(rest) > 0 && rest[0] == i {
			now[i], rest = noNode, rest[1:]
			continue
		}
		if now[i] = next; c.Unschedulable.Has(i) {
			cordoned = append(cordoned, next)
		}
		next++
	}
	c.Names, c.nameIDs = without(c.Names, nodes), without(c.nameIDs, nodes)
	c.kindOf, c.rows = without(c.kindOf, nodes), without(c.rows, nodes)
	c.Unschedulable = nodeset.Of(c.Len(), cordoned)
	c.Taints.Class = without(c.Taints.Class, nodes)
	for _, column := range c.resources.columns() {
		*column = without(*column, nodes)
	}
	b.scalars.remove(now)
	b.images.remove(now)
	b.nominees.remove(now)
}

// without returns a copy of a column without some nodes, ascending.
func without[T any](column []T, nodes []uint32) []T {
	out := make([]T, 0, len(column)-len(nodes))
	from := uint32(0)
	for _, n := range nodes {
		out = append(out, column[from:n]...)
		from = n + 1
	}
	return append(out, column[from:]...)
}
