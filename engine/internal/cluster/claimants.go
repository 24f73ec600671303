package cluster

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// without returns the devices after pods left: the claims that they control are gone, and claims that no pod has reserved any more have no
// devices (pkg/controller/resourceclaim/controller.go syncClaim, v1.37).
func (d *Devices) without(pods []ClaimName) *Devices {
	if d == noDevices || len(pods) == 0 {
		return d
	}
	change, at := &api.DevicesChange{}, make(map[ClaimName]int)
	gone := make(map[ClaimName]bool)
	for _, pod := range pods {
		for _, c := range d.claimed().ofPods[pod] {
			name := nameOfClaim(c)
			if gone[name] {
				continue
			}
			if gone[name] = c.ControllerPod == pod.Name; gone[name] {
				change.Removed.Claims = append(change.Removed.Claims, name)
				continue
			}
			i, changed := at[name]
			if !changed {
				i = len(change.Set.Claims)
				at[name], change.Set.Claims = i, append(change.Set.Claims, *c)
			}
			of := &change.Set.Claims[i]
			of.ReservedFor = slices.DeleteFunc(slices.Clone(of.ReservedFor), func(name string) bool { return name == pod.Name })
			if len(of.ReservedFor) == 0 {
				of.Allocation, of.BindingFailed = nil, false
			}
		}
	}
	change.Set.Claims = slices.DeleteFunc(change.Set.Claims, func(c api.ResourceClaim) bool { return gone[nameOfClaim(&c)] })
	if change.Len() == 0 {
		return d
	}
	return d.with(change)
}

// hidden precedes the names of pods that have none, by which their claims know them.
const hidden = "\x00"

// shown returns the name of a pod for answers.
func shown(name string) string {
	if strings.HasPrefix(name, hidden) {
		return ""
	}
	return name
}

// arrived returns the devices after pods arrived with claims, and gives these pods names.
func (d *Devices) arrived(pods []Arrival) *Devices {
	change, at := &api.DevicesChange{}, make(map[ClaimName]int)
	number := d.arrivals
	for i := range pods {
		if len(pods[i].Claims) == 0 {
			continue
		}
		number++
		pod := &pods[i]
		pod.name = hidden + strconv.Itoa(number)
		for j := range pod.Claims {
			c := &pod.Claims[j]
			if c.Name.Name == "" {
				change.Set.Claims = append(change.Set.Claims, api.ResourceClaim{
					Namespace: c.Name.Namespace, Name: pod.name + hidden + strconv.Itoa(j), Allocation: c.Allocation, ControllerPod: pod.name,
				})
				continue
			}
			k, changed := at[c.Name]
			if !changed {
				k = len(change.Set.Claims)
				at[c.Name], change.Set.Claims = k, append(change.Set.Claims, *d.claims.Get(c.Name))
			}
			of := &change.Set.Claims[k]
			of.Allocation, of.ReservedFor = c.Allocation, append(slices.Clip(of.ReservedFor), pod.name)
		}
	}
	if change.Len() == 0 {
		return d
	}
	next := d.with(change)
	next.arrivals = number
	return next
}

// ArrivalsSince returns the pods that were assumed after a mark and not evicted, with their claims. group returns the group of a queue
// entry.
func (s *State) ArrivalsSince(m Mark, group func(queue int) int) (out []Arrival) {
	for i := m.assumed; i < len(s.assumed); i++ {
		a := &s.assumed[i]
		if a.evicted {
			continue
		}
		arrival := Arrival{Node: a.node, Group: group(a.queue)}
		for _, h := range s.devicesOf.held[i] {
			of := ArrivingClaim{Name: h.claim}
			g := h.grant
			if g == nil {
				g = s.claimNow(h.claim).grant
			} else {
				of.Name.Namespace = a.pod.Template.Namespace
			}
			if g != nil {
				of.Allocation = g.allocation()
			}
			arrival.Claims = append(arrival.Claims, of)
		}
		out = append(out, arrival)
	}
	return out
}

// allocation returns the devices as a claim has them (allocator_incubating.go createNodeSelector, v0.37).
func (g *grant) allocation() *api.ClaimAllocation {
	out := &api.ClaimAllocation{}
	for i := range g.devices {
		out.Devices = append(out.Devices, g.devices[i].DeviceAllocation)
	}
	switch {
	case g.node != "":
		only := []api.Requirement{{Key: "metadata.name", Operator: api.In, Values: []string{g.node}}}
		out.NodeSelector = &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchFields: only}}}
	case len(g.by) == 1:
		out.NodeSelector = g.by[0]
	case len(g.by) > 1:
		term := api.NodeSelectorTerm{}
		for _, by := range g.by {
			for i := range by.Terms { // at most one
				term.MatchFields = append(term.MatchFields, by.Terms[i].MatchFields...)
				term.MatchExpressions = append(term.MatchExpressions, by.Terms[i].MatchExpressions...)
			}
		}
		out.NodeSelector = &api.NodeSelector{Terms: []api.NodeSelectorTerm{term}}
	}
	return out
}
