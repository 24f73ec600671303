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
	// Claims are what it has of devices.
	Claims []ArrivingClaim

	name string // by which claims know it; no name of a pod
}

// ArrivingClaim is the devices of a claim that an arrival uses.
type ArrivingClaim struct {
	Name       ClaimName // empty for a claim that goes with the pod
	Allocation *api.ClaimAllocation
}

// Moved returns the cluster after pods moved to nodes, and some nodes were then removed with all their pods. removed is ascending.
// The arrivals come last on their node, in the order of the list, and have no names. c stays unchanged; the clusters share the
// unchanged parts. All answers are the same as for the resulting cluster compiled from scratch. If the context ends first, it
// returns the context's error.
func (c *Cluster) Moved(ctx context.Context, arrivals []Arrival, removed []uint32) (*Cluster, error) {
	b := derive(c)
	rest := slices.Clone(arrivals)
	b.c.devices = c.devices.without(c.namesOn(removed)).arrived(rest)
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
	b.move(pods[0].Node, func(n *Draft, before *row) {
		n.row.named = append(make([]NamedPod, 0, len(before.named)+len(pods)), before.named...)
		for _, p := range before.pods {
			b.pods.count(n, p.group, p.count)
		}
		for _, p := range pods {
			group := b.ready(int32(p.Group))
			b.pods.count(n, group, 1)
			n.row.named = append(n.row.named, NamedPod{Name: p.name, Group: group, load: asTemplate})
			usage, _ := b.base.loadAt(asTemplate, int32(p.Group))
			b.occupy(n, usage, 1)
		}
	})
}

// move changes the pods of a node of the base. change gets the node without pods, and with their amounts.
func (b *Builder) move(node uint32, change func(n *Draft, before *row)) {
	n, before := &b.draft, b.base.row(node)
	b.base.get(node, n)
	n.row.pods, n.row.named = make([]podsOf, 0, len(before.pods)), nil
	b.pods.stamp++
	change(n, before)
	b.put(node, n)
	b.c.rowBytes += n.row.bytes() - before.bytes()
	for _, q := range n.scalars {
		s := b.scalars.edit(q.name)
		if at, found := s.Find(node); found {
			s.Values[at].Requested += q.value.Requested
		}
	}
	b.recount(node, before.pods, -1)
	b.recount(node, n.row.pods, 1)
}

// occupy adds the requests of pods to a node whose pods move.
func (b *Builder) occupy(n *Draft, u *Usage, count int64) {
	n.occupy(u, count)
	b.replaced = true
}

// ready returns the group of the ready replacements for the pods of a group.
func (b *Builder) ready(group int32) int32 {
	if g := b.c.groups.get(int(group)); g.Readiness != api.Ready {
		return b.pods.group(g.in(podState(false, api.Ready)), g.Template)
	}
	return group
}
