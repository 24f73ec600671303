package cluster

import (
	"context"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Like returns a copy of a node with another name. Labels whose value is the old name get the new name. The copy has no
// pods and no images.
func (c *Cluster) Like(node uint32, name string) api.Node {
	k := c.kinds[c.kindOf[node]]
	old := c.Names[node]
	labels := make(map[string]string)
	add := func(list selector.Labels) {
		for _, l := range list {
			value := c.symbols.Name(l.Value)
			if value == old {
				value = name
			}
			labels[c.symbols.Name(l.Key)] = value
		}
	}
	add(k.labels)
	for _, key := range k.nameKeys {
		labels[c.symbols.Name(key)] = name
	}
	add(c.rows[node].labels)
	out := api.Node{
		Name:          name,
		Labels:        api.LabelsOf(labels),
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

// Plus returns a state that differs from s in one additional node without pods, which has the highest index. Nothing can
// be assumed in it. It may evaluate pods that were compiled for s until another pod is compiled for s.
func (s *State) Plus(ctx context.Context, node *api.Node) (*State, error) {
	// The strings of the request become the cluster's, so that those of the node get other ids.
	base := *s.Cluster
	base.symbols, base.resources = s.Symbols, s.Resources
	c, err := base.With(ctx, &api.Change{Added: []api.Node{*node}})
	if err != nil {
		return nil, err
	}
	f := *s
	f.ctx, f.Cluster, f.Symbols, f.Resources = ctx, c, intern.Extend(c.symbols), c.resources
	return &f, nil
}
