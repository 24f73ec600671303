package cluster

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// takenDevices returns devices by the claims that have them: claims of the cluster, then claims of pods of the queue.
func (s *State) takenDevices(ids nodeset.Set, e *verdict.Explanation) (out []verdict.TakenDevice) {
	const claimsOfCost = 8 // that are looked at, for each unit of cost
	if ids == nil || ids.Empty() || !s.Explain(s.devices.claims.Len()/claimsOfCost) {
		return nil
	}
	add := func(id int32, a *api.DeviceAllocation, claim ClaimName, pods func() []verdict.PodReference) bool {
		if id == noDevice || a.AdminAccess || !ids.Has(uint32(id)) {
			return true
		}
		if len(out) == verdict.MaxDetails || !s.Explain(verdict.EntryCost) {
			e.Truncated = e.Truncated || len(out) < verdict.MaxDetails
			return false
		}
		of := verdict.TakenDevice{
			Driver: a.Driver, Pool: a.Pool, Device: a.Device, Node: verdict.NoNode, Namespace: claim.Namespace, Claim: claim.Name, Pods: pods(),
		}
		if node, found := s.Node(s.devices.Inventory().NodeOf(id)); found {
			of.Node = node
		}
		for i := range of.Pods {
			if p := &of.Pods[i]; p.Node == verdict.NoNode {
				p.Node = of.Node
			}
		}
		out = append(out, of)
		return true
	}
	for _, name := range s.namedGrants() {
		g := s.claimNow(name).grant
		for i := range g.devices {
			if !add(g.devices[i].id, &g.devices[i].DeviceAllocation, name, func() []verdict.PodReference { return s.reserving(name) }) {
				return out
			}
		}
	}
	for _, pod := range slices.Sorted(maps.Keys(s.devicesOf.held)) {
		for _, h := range s.devicesOf.held[pod] {
			if h.grant == nil || s.assumed[pod].evicted {
				continue
			}
			namespace := s.assumed[pod].pod.Template.Namespace
			for i := range h.devices {
				if !add(h.devices[i].id, &h.devices[i].DeviceAllocation, ClaimName{Namespace: namespace}, func() []verdict.PodReference {
					return []verdict.PodReference{s.assumedReference(pod)}
				}) {
					return out
				}
			}
		}
	}
	return out
}

// namedGrants returns the names of the claims that have devices.
func (s *State) namedGrants() (out []ClaimName) {
	for name, c := range s.devices.claims.All {
		if _, changed := s.devicesOf.claims[name]; !changed && c.Allocation != nil {
			out = append(out, name)
		}
	}
	for name, now := range s.devicesOf.claims {
		if now.grant != nil && !now.gone {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b ClaimName) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}

// reserving returns the pods that have reserved a claim.
func (s *State) reserving(name ClaimName) (out []verdict.PodReference) {
	if c := s.devices.claims.Get(name); c != nil {
		for _, pod := range c.ReservedFor {
			out = append(out, verdict.PodReference{
				Namespace: name.Namespace, Name: pod, Node: verdict.NoNode, Count: 1, Template: -1, Queue: -1,
			})
		}
	}
	for _, pod := range slices.Sorted(maps.Keys(s.devicesOf.held)) {
		if !s.assumed[pod].evicted && slices.ContainsFunc(s.devicesOf.held[pod], func(h held) bool { return h.grant == nil && h.claim == name }) {
			out = append(out, s.assumedReference(pod))
		}
	}
	return out
}

// assumedReference describes an assumed pod.
func (s *State) assumedReference(pod int) verdict.PodReference {
	a := &s.assumed[pod]
	return s.PodReference(a.node, &Occupant{Group: a.pod.group, Name: a.name, Count: 1, Queue: a.queue})
}
