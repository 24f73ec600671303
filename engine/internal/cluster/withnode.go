package cluster

import (
	"context"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
)

// Like returns a new node that is like one of the cluster, with another name. Labels whose value is the old name get the new name.
// It has no images, no pods, and not the state of the other node: it is not cordoned, and has no taints that controllers set.
func (c *Cluster) Like(node uint32, name string) api.Node {
	labels := c.Labels(node)
	for i := range labels {
		if labels[i].Value == c.Names[node] {
			labels[i].Value = name
		}
	}
	out := api.Node{
		Name:   name,
		Labels: labels,
		Taints: WithoutStates(c.TaintsOf(node)),
	}
	r := c.resources
	for lane, resource := range LaneNames {
		out.Allocatable = append(out.Allocatable, api.Quantity{Resource: resource, Amount: r.At(node, Allocatable(lane))})
	}
	out.Allocatable = append(out.Allocatable, api.Quantity{Resource: api.ResourcePods, Amount: r.At(node, Allocatable(Pods))})
	for resource, s := range r.Scalars {
		if i, ok := s.Find(node); ok {
			out.Allocatable = append(out.Allocatable, api.Quantity{Resource: resource, Amount: s.Values[i].Allocatable})
		}
	}
	slices.SortFunc(out.Allocatable, func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) })
	return out
}

// WithoutStates returns the taints that are no states of a node.
func WithoutStates(taints []api.Taint) []api.Taint {
	isState := func(t api.Taint) bool { return nodestate.Has(t.Key) }
	if !slices.ContainsFunc(taints, isState) {
		return taints
	}
	return slices.DeleteFunc(slices.Clone(taints), isState)
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

// Tied returns the pods of a node that a node like it would have, too: those of DaemonSets and mirror pods. Terminating ones are not
// among them.
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
func (s *State) Plus(ctx context.Context, node *api.Node, tied []Occupant) (*State, error) {
	with, err := s.derived(ctx, func(base *Cluster) (*Cluster, error) {
		return base.With(ctx, &api.Change{Added: []api.Node{*node}})
	})
	if err == nil {
		with.Bring(uint32(with.Len()-1), tied)
	}
	return with, err
}

// Bring puts pods like those of another node on a node without pods. They are not in the journal, and cannot be evicted. Nothing may
// be assumed or evicted before.
func (s *State) Bring(node uint32, pods []Occupant) {
	if len(pods) == 0 {
		return
	}
	s.OwnResources()
	s.ownGroups()
	s.groups = slices.Clone(s.groups) // of a derived state they are those of the other one
	for i := range pods {
		o := &pods[i]
		g := &s.groups[o.Group]
		g.Assumed = append(slices.Clip(g.Assumed), slices.Repeat([]uint32{node}, o.Count)...)
		s.Resources.add(node, o.usage, int64(o.Count))
	}
}
