package encode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// placementBytes estimates the length of the placement of one pod.
const placementBytes = 10

// Place encodes the response to a PlaceRequest. address is the content address of the cluster.
func Place(_ *stowagev1.PlaceRequest, p *verdict.Place, names Names, address string) ([]byte, error) {
	e := encoder{names: names, b: make([]byte, 0, fixedBytes+placementBytes*len(p.Placements))}
	e.place(p, address)
	return e.b, e.err
}

// place appends a PlaceResponse.
func (e *encoder) place(p *verdict.Place, address string) {
	out := &stowagev1.PlaceResponse{SnapshotAddress: address, Partial: p.Partial, Doubts: doubts(p.Doubts)}
	for i := range p.Placements {
		placement := &p.Placements[i]
		e.lengthDelimited(1, func() { e.placement(placement) })
		out.PlacedCount += uint32(len(placement.Nodes))
		out.UnplacedCount += uint32(placement.Unplaced)
		out.EvictedCount += uint32(placement.Evicted)
	}
	out.ClaimBindings, out.ClaimDevices = claimBindings(p.Bindings), claimDevices(p.Devices)
	e.message(out)
	// One message after the other: they may have a million victims.
	for i := range p.Groups {
		e.lengthDelimited(6, func() { e.message(e.names.podGroup(&p.Groups[i])) })
	}
	for i := range p.Evictions {
		e.lengthDelimited(7, func() { e.message(e.names.eviction(&p.Evictions[i])) })
	}
}

func claimBindings(bindings []verdict.ClaimBinding) []*stowagev1.ClaimBinding {
	out := make([]*stowagev1.ClaimBinding, len(bindings))
	for i, b := range bindings {
		out[i] = &stowagev1.ClaimBinding{
			Namespace: b.Namespace, Name: b.Name, VolumeName: b.Volume, NodeIndex: b.Node, QueueIndex: uint32(b.Queue),
		}
	}
	return out
}

func claimDevices(list []verdict.PodDevices) []*stowagev1.ClaimDevices {
	out := make([]*stowagev1.ClaimDevices, len(list))
	for i := range list {
		d := &list[i]
		out[i] = &stowagev1.ClaimDevices{
			Namespace: d.Namespace, Name: d.Claim, PodClaim: d.Entry, NodeIndex: d.Node, QueueIndex: uint32(d.Queue),
		}
		for j := range d.Devices {
			out[i].Devices = append(out[i].Devices, deviceAllocation(&d.Devices[j]))
		}
	}
	return out
}

func deviceAllocation(a *api.DeviceAllocation) *stowagev1.DeviceAllocation {
	out := &stowagev1.DeviceAllocation{
		Request: a.Request, Driver: a.Driver, Pool: a.Pool, Device: a.Device, AdminAccess: a.AdminAccess, Shared: a.Shared,
	}
	for _, c := range a.ConsumedCapacity {
		out.ConsumedCapacity = append(out.ConsumedCapacity, &stowagev1.DeviceCapacityRequest{Name: c.Name, Value: c.Value})
	}
	return out
}

func (n Names) eviction(v *verdict.Eviction) *stowagev1.Eviction {
	out := &stowagev1.Eviction{QueueIndex: uint32(v.Entry), PdbViolations: uint64(v.Violations), PodGroup: v.Group}
	if v.Group == "" {
		out.NodeIndex = &v.Node
		if n != nil {
			out.NodeName = n[v.Node]
		}
	}
	out.Nominations = n.groupNominations(v.Nominations)
	for i := range v.Victims {
		out.Victims = append(out.Victims, podReference(&v.Victims[i]))
	}
	return out
}

func (e *encoder) placement(p *verdict.Placement) {
	e.nodes(1, p.Nodes)
	e.rejections(4, p.Rejections)
	packed(e, 7, p.Scores)
	if p.Unplaced == 0 && p.Attempts == 0 {
		return
	}
	e.message(&stowagev1.Placement{
		EvictedCount:     uint32(p.Evicted),
		AttemptCount:     p.Attempts,
		InternalError:    p.Failed,
		UnplacedCount:    uint32(p.Unplaced),
		Message:          p.Message,
		Explanation:      e.names.explanation(p.Explanation),
		UnattemptedCount: uint32(p.Unattempted),
		Changes:          e.names.changes(p.Changes),
		Preemption:       e.names.preemption(p.Preemption),
	})
}

func (n Names) podGroup(g *verdict.PodGroupPlacement) *stowagev1.PodGroupPlacement {
	out := &stowagev1.PodGroupPlacement{
		Name:            g.Name,
		Status:          groupStatus(g.Status),
		PlacedCount:     uint32(g.Placed),
		UnplacedCount:   uint32(g.Unplaced),
		Message:         g.Message,
		ScoreSum:        g.Sum,
		LocallyOptimal:  g.LocallyOptimal,
		MostPlaced:      g.Most,
		Conflict:        conflict(g.Conflict),
		ConflictMinimal: g.Minimal,
		Steps:           uint64(g.Steps),
		InternalError:   g.Failed,
		Preemption:      n.groupPreemption(g.Preemption),
	}
	for _, d := range g.Domains {
		out.Domains = append(out.Domains, &stowagev1.TopologyDomain{TopologyKey: d.Key, Value: d.Value})
	}
	if g.First >= 0 {
		first := uint32(g.First)
		out.FirstUnplacedQueueIndex = &first
	}
	return out
}

// conflict returns rules with the entries that have them.
func conflict(rules []verdict.PodRule) []*stowagev1.PodRule {
	out := podRules(rules)
	for i, r := range out {
		r.QueueIndex = new(uint32(rules[i].Entry))
	}
	return out
}

func podRules(rules []verdict.PodRule) []*stowagev1.PodRule {
	out := make([]*stowagev1.PodRule, len(rules))
	for i, r := range rules {
		out[i] = &stowagev1.PodRule{
			Plugin:      Plugin(r.Plugin),
			Rule:        topologyRule(r.Rule),
			Index:       uint32(r.Index),
			TopologyKey: r.TopologyKey,
			Resource:    r.Resource,
			Error:       r.Error,
		}
	}
	return out
}
