package cluster

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Copy is a new node that is like one of the cluster, with another name. Labels whose value is the old name get the new name. It has
// devices of its own like the other node. It has no images, no pods, and not the state of the other node: it is not cordoned, and has no
// taints that controllers set.
type Copy struct {
	Of   uint32
	Name string
	// Labels override the labels of the other node.
	Labels api.Labels
}

// WithCopy returns the cluster with a copy, which has the highest index. c stays unchanged. If the context ends first, it returns the
// context's error.
func (c *Cluster) WithCopy(ctx context.Context, copied *Copy) (*Cluster, error) {
	b := derive(c)
	n := &b.draft
	c.get(copied.Of, n)
	n.kind, n.unschedulable = 0, false
	for i, f := range b.c.fields {
		n.numbers[i] = f.like(n.numbers[i])
	}
	for lane := range Lanes {
		n.amounts[Requested(lane)] = 0
	}
	for lane := range DefaultedLanes {
		n.amounts[Defaulted(lane)] = 0
	}
	for name, s := range c.resources.Scalars {
		if at, found := s.Find(copied.Of); found {
			n.scalars = append(n.scalars, named[Amount]{name, Amount{Allocatable: s.Values[at].Allocatable, Listed: s.Values[at].Listed}})
		}
	}
	slices.SortFunc(n.scalars, func(x, y named[Amount]) int { return cmp.Compare(x.name, y.name) })
	labels := c.Labels(copied.Of)
	for i := range labels {
		if labels[i].Value == c.Names[copied.Of] {
			labels[i].Value = copied.Name
		}
	}
	n.row = row{
		name:   b.c.symbols.Intern(copied.Name),
		labels: selector.AppendLabels(nil, b.c.symbols, labels.With(copied.Labels)),
	}
	b.append(n)
	b.c.devices = c.devices.withCopy(copied.Name, c.Names[copied.Of])
	return b.Build(), ctx.Err()
}

// Labels returns the labels of a node.
func (c *Cluster) Labels(node uint32) api.Labels {
	k := c.kindAt(node)
	labels := make(map[string]string)
	add := func(list selector.Labels) {
		for _, l := range list {
			labels[c.symbols.Name(l.Key)] = c.symbols.Name(l.Value)
		}
	}
	add(k.labels)
	for _, key := range k.nameKeys {
		labels[c.symbols.Name(key)] = c.Names[node]
	}
	add(c.row(node).labels)
	return api.LabelsOf(labels)
}

// Tied returns the pods that every node like this one would have, too: pods of DaemonSets and mirror pods, except for terminating
// ones.
func (s *State) Tied(node uint32) []Occupant {
	return slices.DeleteFunc(s.Occupants(node), func(o Occupant) bool {
		if s.Group(o.Group).Terminating {
			return true
		}
		if t := s.TemplateOf(&o); t != nil {
			return t.Controller.Kind != api.DaemonSet
		}
		return s.Controller(node, &o) != api.DaemonSet
	})
}

// Plus returns a state that differs from s in one additional node, which has the highest index and pods like the given ones. Nothing
// can be assumed in it. It may evaluate pods that were compiled for s until another pod is compiled for s.
func (s *State) Plus(ctx context.Context, copied *Copy, tied []Occupant) (*State, error) {
	with, err := s.derived(ctx, func(base *Cluster) (*Cluster, error) { return base.WithCopy(ctx, copied) })
	if err == nil {
		with.Bring(uint32(with.Len()-1), tied)
	}
	return with, err
}

// Bring puts copies of another node's pods on a node without pods. The copies are not in the journal and cannot be evicted. Call it
// before pods are assumed or evicted.
func (s *State) Bring(node uint32, pods []Occupant) {
	if len(pods) == 0 {
		return
	}
	s.OwnResources()
	for i := range pods {
		o := &pods[i]
		g := s.groups.edit(o.Group)
		g.Assumed = append(slices.Clip(g.Assumed), slices.Repeat([]uint32{node}, o.Count)...)
		s.Resources.add(node, o.usage, int64(o.Count))
		s.brought = append(s.brought, broughtPods{node, o.Group, o.Count})
	}
}

// broughtPods is pods that Bring put on a node.
type broughtPods struct {
	node         uint32
	group, count int
}
