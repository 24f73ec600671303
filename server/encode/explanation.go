package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func (n Names) explanation(e *verdict.Explanation) *stowagev1.Explanation {
	if e == nil {
		return nil
	}
	out := &stowagev1.Explanation{FailingChecks: n.rejections(e.Failing), Truncated: e.Truncated}
	for i := range e.Topology {
		out.TopologyCounts = append(out.TopologyCounts, n.topologyCounts(&e.Topology[i]))
	}
	for _, t := range e.UntoleratedTaints {
		out.UntoleratedTaints = append(out.UntoleratedTaints, &stowagev1.UntoleratedTaint{
			Taint: taint(&t.Taint),
			Nodes: n.list(t.Nodes),
		})
	}
	for _, u := range e.Undeclared {
		out.UndeclaredFeatures = append(out.UndeclaredFeatures, &stowagev1.UndeclaredFeature{Feature: u.Feature, Nodes: n.list(u.Nodes)})
	}
	for _, s := range e.Shortages {
		out.ResourceShortages = append(out.ResourceShortages, &stowagev1.ResourceShortage{
			NodeIndex:   s.Node,
			Resource:    s.Resource,
			Requested:   s.Requested,
			Used:        s.Used,
			Allocatable: s.Allocatable,
		})
	}
	for i := range e.PortConflicts {
		c := &e.PortConflicts[i]
		out.HostPortConflicts = append(out.HostPortConflicts, &stowagev1.HostPortConflict{
			NodeIndex: c.Node,
			Port:      c.Port,
			Holder:    podReference(&c.Holder),
		})
	}
	for i := range e.ClaimConflicts {
		c := &e.ClaimConflicts[i]
		out.ClaimConflicts = append(out.ClaimConflicts, &stowagev1.ClaimConflict{
			Namespace:        c.Namespace,
			Name:             c.Name,
			StorageClassName: c.Class,
			VolumeName:       c.Volume,
			SelectedNode:     c.SelectedNode,
			Reason:           reasonType(c.Reason),
			Nodes:            n.list(c.Nodes),
		})
	}
	for _, s := range e.AttachShortages {
		out.AttachShortages = append(out.AttachShortages, &stowagev1.AttachShortage{
			NodeIndex: s.Node,
			CsiDriver: s.Driver,
			Attached:  s.Attached,
			Added:     s.Adds,
			Limit:     s.Limit,
		})
	}
	for i := range e.VolumeUsers {
		out.VolumeUsers = append(out.VolumeUsers, podReference(&e.VolumeUsers[i]))
	}
	n.devices(&e.Devices, out)
	return out
}

func (n Names) topologyCounts(t *verdict.TopologyCounts) *stowagev1.TopologyCounts {
	out := &stowagev1.TopologyCounts{
		Rule:        topologyRule(t.Rule),
		Index:       uint32(t.Index),
		TopologyKey: t.TopologyKey,
		Selector:    t.Selector,
		Minimum:     t.Minimum,
		MaxSkew:     t.MaxSkew,
		MinDomains:  t.MinDomains,
		SelfMatch:   t.SelfMatch,
	}
	for i := range t.Domains {
		d := &t.Domains[i]
		domain := &stowagev1.DomainCount{
			Value:        d.Value,
			MatchingPods: d.Matching,
			Skew:         d.Skew,
			Feasible:     d.Feasible,
			Nodes:        n.list(d.Nodes),
		}
		for j := range d.Conflicting {
			domain.ConflictingPods = append(domain.ConflictingPods, podReference(&d.Conflicting[j]))
		}
		out.Domains = append(out.Domains, domain)
	}
	for _, u := range t.Uncounted {
		out.UncountedNodes = append(out.UncountedNodes, &stowagev1.UncountedNodes{
			Reason: uncountedReason(u.Reason),
			Nodes:  n.list(u.Nodes),
		})
	}
	return out
}

func podReference(p *verdict.PodReference) *stowagev1.PodReference {
	out := &stowagev1.PodReference{
		Namespace: p.Namespace,
		Name:      p.Name,
		Count:     uint32(p.Count),
	}
	if p.Node != verdict.NoNode {
		out.NodeIndex = &p.Node
	}
	switch {
	case p.Queue >= 0:
		out.Origin = &stowagev1.PodReference_QueueIndex{QueueIndex: uint32(p.Queue)}
	case p.Template >= 0:
		out.Origin = &stowagev1.PodReference_TemplateIndex{TemplateIndex: uint32(p.Template)}
	}
	return out
}
