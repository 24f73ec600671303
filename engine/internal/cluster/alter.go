package cluster

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Alteration is a change of one node that keeps its pods and resources.
type Alteration struct {
	Node uint32
	// Uncordoned takes spec.unschedulable and the taint of cordoned nodes from it.
	Uncordoned bool
	// Cleared are taints that it loses.
	Cleared []api.Taint
	// Labels are added, and override equal keys.
	Labels api.Labels
}

// Altered returns the cluster with an alteration. c stays unchanged. Without other labels the clusters share all memos, as with
// Cordoned. If the context ends first, it returns the context's error.
func (c *Cluster) Altered(ctx context.Context, a *Alteration) (*Cluster, error) {
	altered := *c
	if len(a.Labels) > 0 {
		altered = *c.labelled(a.Node, a.Labels)
	}
	if a.Uncordoned {
		altered.Unschedulable = c.Unschedulable.Clone()
		altered.Unschedulable.Remove(a.Node)
	}
	altered.clear(a)
	return &altered, ctx.Err()
}

// clear takes taints from a node. It adds a missing list of taints. Lists that other clusters share stay unchanged.
func (c *Cluster) clear(a *Alteration) {
	before := c.TaintsOf(a.Node)
	after := slices.DeleteFunc(slices.Clone(before), func(taint api.Taint) bool {
		return a.Uncordoned && Cordons(taint) || slices.Contains(a.Cleared, taint)
	})
	if len(after) == len(before) {
		return
	}
	t := c.ownTaints()
	*t.to(a.Node) = t.find(after, func(list []api.Taint) []api.Taint { return list })
}

// labelled returns the cluster in which a node has additional labels.
func (c *Cluster) labelled(node uint32, labels api.Labels) *Cluster {
	b := derive(c)
	n := &b.draft
	c.get(node, n)
	var own []api.Label
	for _, l := range n.row.labels {
		own = append(own, api.Label{Key: c.symbols.Name(l.Key), Value: c.symbols.Name(l.Value)})
	}
	own = slices.DeleteFunc(own, func(l api.Label) bool {
		_, overridden := labels.Get(l.Key)
		return overridden
	})
	n.row.labels = selector.AppendLabels(nil, b.c.symbols, append(own, labels...))
	b.put(node, n)
	b.c.rowBytes += n.row.bytes() - c.row(node).bytes()
	b.relabelled, b.replaced = append(b.relabelled, node), true
	return b.Build()
}

// Altered returns a state that differs from s in an alteration. Nothing can be assumed or evicted in it. Where labels are added,
// it may evaluate pods that were compiled for s until another pod is compiled for s.
func (s *State) Altered(ctx context.Context, a *Alteration) (*State, error) {
	if len(a.Labels) > 0 {
		return s.derived(ctx, func(base *Cluster) (*Cluster, error) { return base.Altered(ctx, a) })
	}
	c, err := s.Cluster.Altered(ctx, a)
	if err != nil {
		return nil, err
	}
	f := *s
	f.volumeGroups = slices.Clip(s.volumeGroups)
	f.ctx, f.Cluster, f.devicesOf = ctx, c, s.devicesOf.onOtherNodes()
	return &f, nil
}

// derived returns a state of a cluster derived from the cluster of s. The strings of the request become strings of the cluster, so
// that strings interned by the derivation get other ids.
func (s *State) derived(ctx context.Context, derive func(*Cluster) (*Cluster, error)) (*State, error) {
	base := *s.Cluster
	base.symbols, base.resources = s.Symbols, s.Resources
	c, err := derive(&base)
	if err != nil {
		return nil, err
	}
	f := *s
	f.groups, f.volumeGroups = s.groups.shared(), slices.Clip(s.volumeGroups)
	f.bindings.last, f.attachedBy = lastBinding{}, nil // of other nodes
	f.devicesOf = s.devicesOf.onOtherNodes()
	if f.devicesOf.taken != nil && c.devices != s.devices { // it has further devices
		f.devicesOf.taken = f.devicesOf.taken.For(c.devices.Inventory())
	}
	f.ctx, f.Cluster, f.Symbols, f.Resources = ctx, c, intern.Extend(c.symbols), c.resources
	return &f, nil
}
