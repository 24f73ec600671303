package cluster

import (
	"context"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Label returns the value of a node's label, and whether it has it.
func (c *Cluster) Label(node uint32, key intern.ID) (intern.ID, bool) { return c.label(node, key) }

// Like returns a node as a caller would state it that has another name, and is otherwise like one of the cluster: labels
// whose value is that one's name have the new name. It has no pods and no images.
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
			out.Allocatable = append(out.Allocatable, api.Quantity{Resource: resource, Amount: s.Allocatable[i]})
		}
	}
	slices.SortFunc(out.Allocatable, func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) })
	return out
}

// Plus returns a state in which is placed what is placed in s, and with one node more, which has the highest index and no
// pods. Nothing can be placed in it. Pods that were compiled for s may be asked about in it, while nothing is compiled
// for s.
func (s *State) Plus(ctx context.Context, node *api.Node) (*State, error) {
	// With the request's strings as the cluster's, those of the node get other ids.
	base := *s.Cluster
	base.symbols = s.Symbols
	c, err := base.With(ctx, &api.Change{Added: []api.Node{*node}})
	if err != nil {
		return nil, err
	}
	f := *s
	f.ctx, f.Cluster, f.Symbols = ctx, c, intern.Extend(c.symbols)
	if f.Resources = c.resources; s.Resources != s.Cluster.resources {
		f.Resources = s.Resources.grown(c.resources)
	}
	return &f, nil
}

// grown returns resources with the last node of others, which has no pods, as one node more.
func (r *Resources) grown(other *Resources) *Resources {
	g := *r
	last := uint32(len(other.Pods) - 1)
	theirs := other.columns()
	for m, column := range g.columns() {
		*column = append(slices.Clip(*column), (*theirs[m])[last])
	}
	g.Scalars = make(map[string]*Scalar, len(r.Scalars))
	for resource, s := range r.Scalars {
		if i, ok := other.Scalars[resource].Find(last); ok {
			s = &Scalar{
				append(slices.Clip(s.Nodes), last), append(slices.Clip(s.Allocatable), other.Scalars[resource].Allocatable[i]),
				append(slices.Clip(s.Requested), 0),
			}
		}
		g.Scalars[resource] = s
	}
	return &g
}
