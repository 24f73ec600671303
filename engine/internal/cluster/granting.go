package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/allocate"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// grantDevices gives the claims of the pod that was assumed last the devices of its node (dynamicresources.go Reserve, v1.37).
func (s *State) grantDevices(p *Pending, node uint32) {
	if !s.Demands(p.Spec()) {
		return
	}
	d := s.DemandOf(p)
	if d == nil || d.Rejection != "" {
		return
	}
	s.startDevices()
	served, fits := s.servedOn(d, node)
	if !fits || len(d.Claims)+len(served) == 0 {
		return
	}
	of := s.searchOn(d, served, node)
	if of.Status != allocate.Found {
		return
	}
	pools, _ := s.devicesOf.finder.Pools(s.deviceNode(node))
	pod, next := len(s.assumed)-1, 0
	wanting := slices.DeleteFunc(slices.Clone(d.Claims), func(c DeviceClaim) bool { return s.allocationOf(&c) != nil })
	for i := range wanting {
		c := &wanting[i]
		next++
		if slices.ContainsFunc(wanting[next:], func(o DeviceClaim) bool { return c.Object != nil && o.Name == c.Name }) {
			continue // a claim that a pod has twice is allocated twice, and has what the last one got
		}
		g := s.grantOf(of.Claims[next-1], pools, node)
		if c.Object == nil || c.Object.ControllerPod == p.Name {
			s.hold(pod, g)
		}
		if c.Object != nil {
			g.name = c.Name
			s.setClaim(c.Name, g)
		}
		s.report(c.Name, c.Entry, p, g, node, pod)
	}
	if len(served) > 0 {
		g := s.grantOf(of.Claims[next], pools, node)
		s.hold(pod, g)
		s.report(ClaimName{}, "", p, g, node, pod)
	}
}

func (s *State) deviceNode(node uint32) *allocate.Node {
	return &allocate.Node{Name: s.Names[node], Selects: func(by *api.NodeSelector) bool { return s.available(by).Has(node) }}
}

// grantOf takes the devices that a search chose for a claim (allocator_incubating.go Allocate and createNodeSelector, v0.37).
func (s *State) grantOf(choices []allocate.Choice, pools []*allocate.Pool, node uint32) *grant {
	g := &grant{}
	local := false
	for i := range choices {
		c := &choices[i]
		d := pools[c.Pool].Devices[c.Device]
		name := d.Name()
		g.devices = append(g.devices, granted{d.ID, api.DeviceAllocation{
			Request: c.Request, Driver: name.Driver, Pool: name.Pool, Device: name.Device, AdminAccess: c.Admin, Shared: c.Shared,
			ConsumedCapacity: c.Consumed,
		}})
		on, by := d.On()
		if local = local || on != "" || d.BindsToNode; by != nil {
			g.by = append(g.by, by)
		}
	}
	if local {
		g.node, g.by = s.Names[node], nil
	}
	for i := range g.devices {
		s.takeDevice(&g.devices[i])
	}
	return g
}

// takeDevice gives a device to a claim until that is undone.
func (s *State) takeDevice(d *granted) {
	if s.ownTaken(); s.devicesOf.taken.Take(d.id, &d.DeviceAllocation) {
		s.deviceChanged(d.id)
		s.note(func() { s.devicesOf.taken.Free(d.id, &d.DeviceAllocation); s.deviceChanged(d.id) })
	}
}

// freeDevice takes a device from a claim until that is undone.
func (s *State) freeDevice(id int32, a *api.DeviceAllocation) {
	if s.ownTaken(); a.AdminAccess || !s.devicesOf.taken.Any(id) {
		return
	}
	s.devicesOf.taken.Free(id, a)
	s.deviceChanged(id)
	s.note(func() { s.devicesOf.taken.Take(id, a); s.deviceChanged(id) })
}

func (s *State) ownTaken() {
	if s.devicesOf.taken == s.devices.claimed().Taken {
		s.devicesOf.taken = s.devicesOf.taken.Clone()
	}
}

// deviceChanged invalidates what searches found on the nodes of a device.
func (s *State) deviceChanged(id int32) {
	s.devicesOf.allChanges++
	if name := s.devicesOf.finder.NodeOf(id); name == "" {
		s.devicesOf.sharedChange++
	} else if node, found := s.Node(name); found {
		s.devicesOf.changes[node]++
	}
}

// setClaim sets what a claim has until that is undone.
func (s *State) setClaim(name ClaimName, g *grant) {
	d := &s.devicesOf
	if d.claims == nil {
		d.claims = make(map[ClaimName]*grant)
	}
	before, had := d.claims[name]
	d.claims[name] = g
	d.claimChanges, d.allChanges = d.claimChanges+1, d.allChanges+1
	s.note(func() {
		d.claimChanges, d.allChanges = d.claimChanges+1, d.allChanges+1
		if d.claims[name] = before; !had {
			delete(d.claims, name)
		}
	})
}

// hold lets an assumed pod have devices until it is evicted.
func (s *State) hold(pod int, g ...*grant) {
	d := &s.devicesOf
	if d.held == nil {
		d.held = make(map[int][]*grant)
	}
	before := d.held[pod]
	d.held[pod] = append(slices.Clip(before), g...)
	s.note(func() {
		if d.held[pod] = before; len(before) == 0 {
			delete(d.held, pod)
		}
	})
}

func (s *State) report(claim ClaimName, entry string, p *Pending, g *grant, node uint32, pod int) {
	of := verdict.PodDevices{
		Namespace: p.Template.Namespace, Claim: claim.Name, Entry: entry, Node: node, Queue: s.assumed[pod].queue, Pod: pod,
	}
	for i := range g.devices {
		of.Devices = append(of.Devices, g.devices[i].DeviceAllocation)
	}
	before := len(s.devicesOf.made)
	s.devicesOf.made = append(s.devicesOf.made, of)
	s.note(func() { s.devicesOf.made = s.devicesOf.made[:before] })
}

// PodDevices returns the devices that assumed pods got, in the order in which they did. It must not be changed.
func (s *State) PodDevices() []verdict.PodDevices { return s.devicesOf.made }

// heldBy returns what pods have that go with them: the devices of their own claims, and of claims that no other pod has reserved.
func (s *State) heldBy(o *Occupant) (out []*grant) {
	if o.Queue >= 0 {
		return s.devicesOf.held[int(o.place)]
	}
	if o.Name == "" || s.devices == noDevices {
		return nil
	}
	pod := ClaimName{Namespace: s.Symbols.Name(s.Group(o.Group).Namespace), Name: o.Name}
	for _, c := range s.devices.claimed().ofPods[pod] {
		if _, changed := s.devicesOf.claims[nameOfClaim(c)]; changed || c.Allocation == nil || c.ControllerPod != o.Name && len(c.ReservedFor) > 1 {
			continue
		}
		g := &grant{name: nameOfClaim(c)}
		for _, a := range c.Allocation.Devices {
			if id, found := s.startDevices().finder.Find(allocate.DeviceName{Driver: a.Driver, Pool: a.Pool, Device: a.Device}); found {
				g.devices = append(g.devices, granted{id, a})
			}
		}
		out = append(out, g)
	}
	return out
}

// releaseDevices takes the devices of evicted pods. A state that kube-scheduler mutates to preempt for a group keeps them, as its snapshot
// has no claims.
func (s *State) releaseDevices(held []*grant) {
	if s.unnumbered {
		return
	}
	for _, g := range held {
		for i := range g.devices {
			s.freeDevice(g.devices[i].id, &g.devices[i].DeviceAllocation)
		}
		if g.name.Name != "" {
			s.setClaim(g.name, nil)
		}
	}
}
