package cluster

import (
	"context"
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Disruption is what happens to the nodes and pods of a cluster, in the order of the fields.
type Disruption struct {
	// Cordoned are nodes.
	Cordoned []uint32
	// Evicted are pods, ascending by node.
	Evicted []Evictee
	// Terminating reports that evicted pods do not leave yet, but have a deletion timestamp.
	Terminating bool
	// Removed are nodes, ascending. They have the pods with them that they still have.
	Removed []uint32
}

// Evictee is equal pods of a node of the cluster.
type Evictee struct {
	Node  uint32
	Count int32
	group int32
	place int32 // index in row.named, or counted
}

// NamedOn iterates over the namespaces and names of the pods of a node that are not counted, in the order of the input.
func (c *Cluster) NamedOn(node uint32) iter.Seq2[string, string] {
	return func(yield func(namespace, name string) bool) {
		for i := range c.row(node).named {
			p := &c.row(node).named[i]
			if !yield(c.symbols.Name(c.groups.get(int(p.Group)).Namespace), p.Name) {
				return
			}
		}
	}
}

// Named returns a pod of a node by its position in NamedOn.
func (c *Cluster) Named(node uint32, i int) Evictee {
	return Evictee{Node: node, Count: 1, group: c.row(node).named[i].Group, place: int32(i)}
}

// CountedOn returns the counted pods of a template on a node; their number may be 0. The function looks through the pods of the
// node once.
func (c *Cluster) CountedOn(node uint32) func(template int, terminating bool, readiness api.Readiness) Evictee {
	type kind struct{ template, state int }
	counts := c.row(node).countedByGroup()
	groups := make(map[kind]int32, len(counts))
	for group := range counts {
		g := c.groups.get(int(group))
		if g.Template >= 0 && slices.Equal(g.Labels, c.templates.get(g.Template).shape.Labels) {
			groups[kind{g.Template, podState(g.Terminating, g.Readiness)}] = group
		}
	}
	return func(template int, terminating bool, readiness api.Readiness) Evictee {
		group, known := groups[kind{template, podState(terminating, readiness)}]
		if !known {
			group = noGroup
		}
		return Evictee{Node: node, Count: counts[group], group: group, place: counted}
	}
}

// noGroup is the group of pods that no node has.
const noGroup = -1

// countedByGroup returns the numbers of counted pods.
func (r *row) countedByGroup() map[int32]int32 {
	named := r.namedByGroup()
	counts := make(map[int32]int32, len(r.pods))
	for _, p := range r.pods {
		counts[p.group] = p.count - named[p.group]
	}
	return counts
}

// Drained appends the pods of a node that kubectl drain evicts: all pods but mirror pods and pods of DaemonSets
// (k8s.io/kubectl/pkg/drain/filters.go, v0.37). Counted pods come first, by template, then the others, in canonical order.
func (c *Cluster) Drained(evicted []Evictee, node uint32) []Evictee {
	r := c.row(node)
	named := r.namedByGroup()
	for _, p := range r.pods {
		if n := p.count - named[p.group]; n > 0 && c.controllerAt(asTemplate, p.group) != api.DaemonSet {
			evicted = append(evicted, Evictee{Node: node, Count: n, group: p.group, place: counted})
		}
	}
	for i := range r.named {
		if p := &r.named[i]; c.controllerAt(p.load, p.Group) != api.DaemonSet {
			evicted = append(evicted, c.Named(node, i))
		}
	}
	return evicted
}

// namedByGroup returns the numbers of pods that are not counted.
func (r *row) namedByGroup() map[int32]int32 {
	if len(r.named) == 0 {
		return nil
	}
	named := make(map[int32]int32, len(r.named))
	for i := range r.named {
		named[r.named[i].Group]++
	}
	return named
}

// Created returns what the controller of evicted pods creates in their place.
func (c *Cluster) Created(e *Evictee) Replacement {
	g := c.groups.get(int(e.group))
	if g.Template < 0 && !g.Terminating {
		t := c.traitsAt(c.loadOf(e), e.group)
		return Replacement{Own: t.Controller == api.DaemonSet, Unknown: t.Controller != api.NoWorkload && !t.Gone}
	}
	out := c.replacement(g, c.symbols)
	if out.Pod != nil {
		out.Pod.Unread = c.unreadFields(e)
	}
	return out
}

func (c *Cluster) loadOf(e *Evictee) int32 {
	if e.place == counted {
		return asTemplate
	}
	return c.row(e.Node).named[e.place].load
}

func (c *Cluster) unreadFields(e *Evictee) []api.UnreadField {
	if e.place == counted {
		return nil
	}
	return c.row(e.Node).named[e.place].unreadFields()
}

// Reference describes evicted pods.
func (c *Cluster) Reference(e *Evictee) verdict.PodReference {
	g := c.groups.get(int(e.group))
	r := verdict.PodReference{
		Namespace: c.symbols.Name(g.Namespace), Node: e.Node, Count: int(e.Count), Template: g.Template, Queue: -1,
	}
	if e.place != counted {
		r.Name = shown(c.row(e.Node).named[e.place].Name)
	}
	return r
}

// Disrupted returns the cluster after a disruption. c stays unchanged; the clusters share what the disruption does not affect. All
// answers are the same as for the resulting cluster compiled from scratch. If the context ends first, it returns the context's
// error.
func (c *Cluster) Disrupted(ctx context.Context, d *Disruption) (*Cluster, error) {
	if len(d.Cordoned) > 0 {
		cordoned, err := c.Cordoned(ctx, d.Cordoned)
		if err != nil {
			return nil, err
		}
		c = cordoned
	}
	if len(d.Evicted)+len(d.Removed) == 0 {
		return c, ctx.Err()
	}
	b := derive(c)
	for rest := d.Evicted; len(rest) > 0; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := slices.IndexFunc(rest, func(e Evictee) bool { return e.Node != rest[0].Node })
		if n < 0 {
			n = len(rest)
		}
		b.evict(rest[:n], d.Terminating)
		rest = rest[n:]
	}
	b.c.devices = c.devices.without(c.leaving(d))
	if len(d.Removed) > 0 {
		b.remove(d.Removed)
	}
	return b.Build(), ctx.Err()
}

// leaving returns the pods with names that a disruption takes off the cluster.
func (c *Cluster) leaving(d *Disruption) (pods []ClaimName) {
	if c.devices == noDevices {
		return nil
	}
	if !d.Terminating {
		for i := range d.Evicted {
			if e := &d.Evicted[i]; e.place != counted {
				pods = append(pods, c.nameOf(&c.row(e.Node).named[e.place]))
			}
		}
	}
	return append(pods, c.namesOn(d.Removed)...)
}

// namesOn returns the pods with names on nodes.
func (c *Cluster) namesOn(nodes []uint32) (pods []ClaimName) {
	if c.devices == noDevices {
		return nil
	}
	for _, node := range nodes {
		named := c.row(node).named
		for i := range named {
			pods = append(pods, c.nameOf(&named[i]))
		}
	}
	return pods
}

func (c *Cluster) nameOf(p *NamedPod) ClaimName {
	return ClaimName{Namespace: c.symbols.Name(c.groups.get(int(p.Group)).Namespace), Name: p.Name}
}

// evict takes pods off a node of the base, or makes them terminating.
func (b *Builder) evict(pods []Evictee, terminating bool) {
	evictedCounts := make(map[int32]int32) // by group, of counted pods
	evictedNamed := make(map[int32]bool)   // by place
	for i := range pods {
		if e := &pods[i]; e.place == counted {
			evictedCounts[e.group] += e.Count
		} else {
			evictedNamed[e.place] = true
		}
	}
	b.move(pods[0].Node, func(n *Draft, before *row) {
		named := before.namedByGroup()
		for _, p := range before.pods {
			all := p.count - named[p.group]
			if all == 0 {
				continue // comes with its named pods
			}
			gone := evictedCounts[p.group]
			if all > gone {
				b.pods.count(n, p.group, all-gone)
			}
			if terminating && gone > 0 {
				b.pods.count(n, b.terminating(p.group), gone)
			}
		}
		n.row.named = make([]NamedPod, 0, len(before.named))
		for i := range before.named {
			p := before.named[i]
			if evictedNamed[int32(i)] {
				if !terminating {
					continue
				}
				p.Group = b.terminating(p.Group)
			}
			b.pods.count(n, p.Group, 1)
			n.row.named = append(n.row.named, p)
		}
		if terminating {
			return
		}
		for i := range pods {
			usage, _ := b.base.loadAt(b.base.loadOf(&pods[i]), pods[i].group)
			b.occupy(n, usage, -int64(pods[i].Count))
		}
	})
}

// terminating returns the group of a group's pods once they are terminating.
func (b *Builder) terminating(group int32) int32 {
	g := b.c.groups.get(int(group))
	if g.Terminating {
		return group
	}
	return b.pods.group(g.in(podStates-1), g.Template)
}
