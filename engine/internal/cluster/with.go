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
func (c *Cluster) With(ctx context.Context, change *api.Delta) (*Cluster, error) {
	b := derive(c)
	b.applyOthers(change)
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

// applyOthers applies the parts of a change that are not nodes.
func (b *Builder) applyOthers(change *api.Delta) {
	c := b.c
	b.beyondNodes = len(change.Templates)+len(change.Classes) > 0 || change.Namespaces != nil || change.WorkloadSelectors != nil ||
		change.PodGroups != nil || change.Budgets != nil || change.Storage.Len() > 0 ||
		change.Devices.Len() > 0
	if len(change.Templates) > 0 {
		c.podTemplates = slices.Clone(c.podTemplates)
	}
	for _, t := range change.Templates {
		if t.Index == len(c.podTemplates) {
			b.AddTemplate(t.Template)
		} else {
			c.podTemplates[t.Index], *c.templates.edit(t.Index) = t.Template, b.pods.compiled(t.Template, t.Index)
			if t.Index < len(b.pods.known) {
				b.pods.known[t.Index] = groupsOf{}
			}
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
	if change.Storage.Len() > 0 {
		c.storage, b.storage = c.storage.with(&change.Storage), change.Storage
	}
	if change.Devices.Len() > 0 {
		c.devices = c.devices.with(&change.Devices)
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

// reclassify drops the kinds of removed classes and compiles the kinds of new classes.
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
	base, n, i := b.base, &b.draft, r.Index
	before := base.row(i)
	if n.row.name != before.name || b.c.kinds[n.kind] != base.kindAt(i) || !slices.Equal(n.row.labels, before.labels) {
		b.relabelled = append(b.relabelled, i)
	}
	b.c.rowBytes += n.row.bytes() - before.bytes() + bytesOf(n.nominated) - bytesOf(b.nominatedTo(i))
	n.row.scalars = b.scalars.replace(i, before.scalars, n.scalars)
	n.row.images = b.images.replace(i, before.images, n.images)
	b.nominees.replace(i, b.nominees.has(nomineesColumn, i), n.nominees())
	b.put(i, n)
	b.replaced = true
	b.recount(i, before.pods, -1)
	b.recount(i, n.row.pods, 1)
	return nil
}

// remove removes nodes, ascending. Later nodes move up.
func (b *Builder) remove(nodes []uint32) {
	c := b.c
	b.removed = true
	names := make([]string, 0, c.Len()-len(nodes))
	var cordoned []uint32
	now := make([]uint32, c.Len()) // new index by old
	for i, rest := uint32(0), nodes; int(i) < len(now); i++ {
		if len(rest) > 0 && rest[0] == i {
			c.rowBytes -= c.row(i).bytes() + bytesOf(b.nominatedTo(i))
			now[i], rest = noNode, rest[1:]
			continue
		}
		now[i] = uint32(len(names))
		if names = append(names, c.Names[i]); c.Unschedulable.Has(i) {
			cordoned = append(cordoned, now[i])
		}
	}
	for i := uint32(0); int(i) < len(now); {
		to, n := now[i], uint32(1)
		if to == noNode || to == i {
			i++
			continue
		}
		for int(i+n) < len(now) && now[i+n] == to+n && (to+n)%PageNodes != 0 && (i+n)%PageNodes != 0 {
			n++
		}
		for p := range c.paged() {
			p.move(to, i, n)
		}
		i += n
	}
	c.Names, c.Unschedulable = names, nodeset.Of(len(names), cordoned)
	b.cut(uint32(len(names)))
	b.scalars.remove(now)
	b.images.remove(now)
	b.nominees.remove(now)
}

// cut ends the columns behind the first n nodes.
func (b *Builder) cut(n uint32) {
	c := b.c
	for p := range c.paged() {
		p.cut(int(n+PageNodes-1) / PageNodes)
	}
	for ; n%PageNodes != 0; n++ {
		*c.rows.to(n) = row{} // it would keep lists alive
	}
}
