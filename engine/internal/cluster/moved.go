package cluster

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Arrival is a pod that comes to a node: what the controller of a pod of a group of the cluster creates.
type Arrival struct {
	Node  uint32
	Group int
}

// Moved returns the cluster after pods came to nodes, and then some nodes were removed with all their pods, ascending. Of a node
// the pods that came are the last ones, in the order of the list, and have no names. c stays unchanged; the clusters share what
// stays. All answers equal those of the resulting cluster compiled from scratch. If the context ends first, it returns the
// context's error.
func (c *Cluster) Moved(ctx context.Context, arrivals []Arrival, removed []uint32) (*Cluster, error) {
	b := derive(c)
	rest := slices.Clone(arrivals)
	slices.SortStableFunc(rest, func(x, y Arrival) int { return cmp.Compare(x.Node, y.Node) })
	for len(rest) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := slices.IndexFunc(rest, func(a Arrival) bool { return a.Node != rest[0].Node })
		if n < 0 {
			n = len(rest)
		}
		b.arrive(rest[:n])
		rest = rest[n:]
	}
	if len(removed) > 0 {
		b.remove(removed)
	}
	return b.Build(), ctx.Err()
}

// arrive puts pods on a node of the base.
func (b *Builder) arrive(pods []Arrival) {
	node := pods[0].Node
	before := b.base.rows[node]
	n := &b.draft
	*n = Draft{scalars: n.scalars[:0], row: &row{labels: before.labels, scalars: before.scalars, images: before.images}}
	n.row.pods = make([]podsOf, 0, len(before.pods)+len(pods))
	n.row.named = append(make([]NamedPod, 0, len(before.named)+len(pods)), before.named...)
	b.pods.stamp++
	for _, p := range before.pods {
		b.pods.count(n, p.group, p.count)
	}
	for _, p := range pods {
		group := b.ready(int32(p.Group))
		b.pods.count(n, group, 1)
		n.row.named = append(n.row.named, NamedPod{Group: group, load: asTemplate})
		usage, _ := b.base.loadAt(asTemplate, int32(p.Group))
		n.occupy(usage, 1)
	}
	b.reload(node)
	set(&b.c.rows, b.base.rows, node, n.row)
	b.recount(node, before.pods, -1)
	b.recount(node, n.row.pods, 1)
}

// ready returns the group of the pods that replace those of a group, once they are ready.
func (b *Builder) ready(group int32) int32 {
	if g := &b.c.groups[group]; g.Readiness != api.Ready {
		return b.pods.group(g.in(podState(false, api.Ready)), g.Template)
	}
	return group
}

// reload adds the amounts of the draft to those of a node of the base.
func (b *Builder) reload(node uint32) {
	n := &b.draft
	shared := b.base.resources.columns()
	for m, column := range b.c.resources.columns() {
		set(column, *shared[m], node, (*shared[m])[node]+n.amounts[m])
	}
	for _, q := range n.scalars {
		s := b.scalars.edit(q.name)
		if at, found := s.Find(node); found {
			s.Values[at].Requested += q.value.Requested
		}
	}
	b.replaced = true
}
