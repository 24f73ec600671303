package cluster

import (
	"context"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Like returns a copy of a node with another name. Labels whose value is the old name get the new name. The copy has no
// pods and no images.
func (c *Cluster) Like(node uint32, name string) api.Node {
	labels := c.Labels(node)
	for i := range labels {
		if labels[i].Value == c.Names[node] {
			labels[i].Value = name
		}
	}
	out := api.Node{
		Name:          name,
		Labels:        labels,
		Taints:        c.Taints.Lists[c.Taints.Class[node]],
		Unschedulable: c.Unschedulable.Has(node),
	}
	r := c.resources
	for lane, resource := range LaneNames {
		out.Allocatable = append(out.Allocatable, api.Quantity{Resource: resource, Amount: r.Allocatable[lane][node]})
	}
	out.Allocatable = append(out.Allocatable, api.Quantity{Resource: api.ResourcePods, Amount: r.AllowedPods[node]})
	for resource, s := range r.Scalars {
		if i, ok := s.Find(node); ok {
			out.Allocatable = append(out.Allocatable, api.Quantity{Resource: resource, Amount: s.Values[i].Allocatable})
		}
	}
	slices.SortFunc(out.Allocatable, func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) })
	return out
}

// Labels returns the labels of a node.
func (c *Cluster) Labels(node uint32) api.Labels {
	k := c.kinds[c.kindOf[node]]
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
	add(c.rows[node].labels)
	return api.LabelsOf(labels)
}

// Plus returns a state that differs from s in one additional node without pods, which has the highest index. Nothing can
// be assumed in it. It may evaluate pods that were compiled for s until another pod is compiled for s.
func (s *State) Plus(ctx context.Context, node *api.Node) (*State, error) {
	return s.derived(ctx, func(base *Cluster) (*Cluster, error) {
		return base.With(ctx, &api.Change{Added: []api.Node{*node}})
	})
}
