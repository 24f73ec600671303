package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/allocate"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// grantDevices gives the claims of the pod that was assumed last the devices of its node (dynamicresources.go Reserve, v1.37).
func (s *State) grantDevices(p *Pending, node uint32) {
	d := s.DemandOf(p)
	if d == nil || d.Rejection != "" {
		return
	}
	if s.devicesOf.withheld {
		s.reserve(p, len(s.assumed)-1, d) // as the resource claim controller does for a pod on a node
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
	grants, pod := s.grantsOf(of, node), len(s.assumed)-1
	wanting := slices.DeleteFunc(slices.Clone(d.Claims), func(c DeviceClaim) bool { return s.allocationOf(&c) != nil })
	for i := range wanting {
		c := &wanting[i]
		if slices.ContainsFunc(wanting[:i], func(o DeviceClaim) bool { return c.Object != nil && o.Name == c.Name }) {
			// A claim that a pod has twice is allocated twice, and has what it got first (dra_manager.go SignalClaimPendingAllocation, v1.37).
			continue
		}
		g := grants[i]
		if s.take(g); c.Object == nil {
			s.hold(pod, held{grant: g})
		} else {
			now := s.claimNow(c.Name)
			now.grant = g
			s.setClaim(c.Name, now)
		}
		s.report(madeGrant{claim: c.Name.Name, entry: c.Entry, namespace: p.Template.Namespace, node: node, pod: pod, grant: g})
	}
	s.reserve(p, pod, d)
	if len(served) > 0 {
		g := grants[len(wanting)]
		s.take(g)
		s.hold(pod, held{grant: g})
		s.report(madeGrant{namespace: p.Template.Namespace, node: node, pod: pod, grant: g})
	}
}

// reserve lets a pod have its claims with names.
func (s *State) reserve(p *Pending, pod int, d *DeviceDemand) {
	for i := range d.Claims {
		c := &d.Claims[i]
		if c.Object == nil || slices.ContainsFunc(d.Claims[:i], func(o DeviceClaim) bool { return o.Name == c.Name }) {
			continue
		}
		own := p.Name != "" && c.Object.ControllerPod == p.Name
		if now := s.claimNow(c.Name); p.Name == "" || !slices.Contains(c.Object.ReservedFor, p.Name) {
			now.reserved++
			s.setClaim(c.Name, now)
		}
		s.hold(pod, held{claim: c.Name, own: own})
	}
}

func (s *State) deviceNode(node uint32) *allocate.Node {
	return &allocate.Node{Name: s.Names[node], Selects: func(by *api.NodeSelector) bool { return s.available(by).Has(node) }}
}

// grantsOf returns the devices of an outcome's claims on a node. Joint placement and searches that undo their steps ask for the same ones
// again and again.
func (s *State) grantsOf(of *searched, node uint32) []*grant {
	if of.grantsOf != of.Result {
		pools, _ := s.devicesOf.finder.Pools(s.deviceNode(node))
		of.grantsOf, of.grants = of.Result, make([]*grant, len(of.Claims))
		for i := range of.Claims {
			of.grants[i] = s.grantOf(of.Claims[i], pools, node)
		}
	}
	return of.grants
}

// grantOf returns the devices that a search chose for a claim (allocator_incubating.go Allocate and createNodeSelector, v0.37).
func (s *State) grantOf(choices []allocate.Choice, pools []*allocate.Pool, node uint32) *grant {
	g := &grant{devices: make([]granted, 0, len(choices))}
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
	return g
}

// take gives a claim its devices until that is undone.
func (s *State) take(g *grant) {
	s.ownTaken()
	taken := false
	for i := range g.devices {
		d := &g.devices[i]
		taken = s.devicesOf.taken.Take(d.id, &d.DeviceAllocation) || taken
	}
	if !taken {
		return
	}
	s.devicesChanged(g.devices)
	s.note(func() {
		for i := range g.devices {
			if d := &g.devices[i]; !d.AdminAccess {
				s.devicesOf.taken.Free(d.id, &d.DeviceAllocation)
			}
		}
		s.devicesChanged(g.devices)
	})
}

// freeDevice takes a device from a claim until that is undone.
func (s *State) freeDevice(id int32, a *api.DeviceAllocation) {
	if s.ownTaken(); a.AdminAccess || id == noDevice || !s.devicesOf.taken.Any(id) {
		return
	}
	s.devicesOf.taken.Free(id, a)
	one := []granted{{id: id}}
	s.devicesChanged(one)
	s.note(func() { s.devicesOf.taken.Take(id, a); s.devicesChanged(one) })
}

func (s *State) ownTaken() {
	if s.devicesOf.taken == s.devices.claimed().Taken {
		s.devicesOf.taken = s.devicesOf.taken.Clone()
	}
}

// devicesChanged invalidates what searches found on the nodes of devices.
func (s *State) devicesChanged(devices []granted) {
	s.devicesOf.allChanges++
	last := ""
	for i := range devices {
		name := s.devicesOf.finder.NodeOf(devices[i].id)
		if i > 0 && name == last {
			continue // most claims have devices of one node
		}
		if last = name; name == "" {
			s.devicesOf.sharedChange++
		} else if node, found := s.Node(name); found {
			s.devicesOf.changes[node]++
		}
	}
}

// claimNow is what the request knows about a claim with a name.
type claimNow struct {
	*grant        // nil if the claim has no devices
	gone     bool // deleted, as the pod that controls the claim
	reserved int  // pods that use the claim
}

// claimNow returns the current state of a claim.
func (s *State) claimNow(name ClaimName) claimNow {
	if now, changed := s.devicesOf.claims[name]; changed {
		return now
	}
	object := s.devices.claims.Get(name)
	if object == nil {
		return claimNow{gone: true}
	}
	now := claimNow{reserved: len(object.ReservedFor)}
	if a := object.Allocation; a != nil {
		if now.grant = (&grant{failed: object.BindingFailed}); a.NodeSelector != nil {
			now.by = []*api.NodeSelector{a.NodeSelector}
		}
		for _, of := range a.Devices {
			id, found := s.devices.Inventory().Find(allocate.DeviceName{Driver: of.Driver, Pool: of.Pool, Device: of.Device})
			if !found {
				id = noDevice
			}
			now.devices = append(now.devices, granted{id, of})
		}
	}
	return now
}

// setClaim sets the state of a claim until that is undone.
func (s *State) setClaim(name ClaimName, now claimNow) {
	d := &s.devicesOf
	if d.claims == nil {
		d.claims = make(map[ClaimName]claimNow)
	}
	before, had := d.claims[name]
	d.claims[name] = now
	d.claimChanges, d.allChanges = d.claimChanges+1, d.allChanges+1
	s.note(func() {
		d.claimChanges, d.allChanges = d.claimChanges+1, d.allChanges+1
		if d.claims[name] = before; !had {
			delete(d.claims, name)
		}
	})
}

// held is a claim of a pod: one with a name, or the devices of one without.
type held struct {
	claim ClaimName
	own   bool // the claim with the name is deleted with the pod
	*grant
}

// hold lets an assumed pod have claims until it is evicted.
func (s *State) hold(pod int, claims ...held) {
	d := &s.devicesOf
	if d.held == nil {
		d.held = make(map[int][]held)
	}
	before := d.held[pod]
	d.held[pod] = append(slices.Clip(before), claims...)
	s.note(func() {
		if d.held[pod] = before; len(before) == 0 {
			delete(d.held, pod)
		}
	})
}

// madeGrant is the devices that a claim of an assumed pod got.
type madeGrant struct {
	claim, entry, namespace string
	node                    uint32
	pod                     int // among the assumed pods
	*grant
}

func (s *State) report(m madeGrant) {
	before := len(s.devicesOf.made)
	s.devicesOf.made = append(s.devicesOf.made, m)
	s.note(func() { s.devicesOf.made = s.devicesOf.made[:before] })
}

// PodDevices returns the devices that assumed pods got, in the order in which they did.
func (s *State) PodDevices() (out []verdict.PodDevices) {
	for i := range s.devicesOf.made {
		m := &s.devicesOf.made[i]
		out = append(out, verdict.PodDevices{
			Namespace: m.namespace, Claim: m.claim, Entry: m.entry, Node: m.node, Queue: s.assumed[m.pod].queue, Pod: m.pod,
			Devices: m.allocation().Devices,
		})
	}
	return out
}

// heldBy returns the claims of pods.
func (s *State) heldBy(o *Occupant) (out []held) {
	if o.Queue >= 0 {
		return s.devicesOf.held[int(o.place)]
	}
	if o.Name == "" || s.devices == noDevices {
		return nil
	}
	pod := ClaimName{Namespace: s.Symbols.Name(s.Group(o.Group).Namespace), Name: o.Name}
	for _, c := range s.devices.claimed().ofPods[pod] {
		out = append(out, held{claim: nameOfClaim(c), own: c.ControllerPod == o.Name})
	}
	return out
}

// release takes the claims of pods that leave: a claim that the pod controls is deleted, and a claim that no pod uses any more loses its
// devices (pkg/controller/resourceclaim/controller.go syncClaim, v1.37). A state that kube-scheduler mutates to preempt for a group keeps
// them, as its snapshot has no claims.
func (s *State) release(claims []held) {
	if s.unnumbered || len(claims) == 0 {
		return
	}
	s.startDevices()
	for i := range claims {
		h := &claims[i]
		if h.grant != nil {
			s.freeDevices(h.grant)
			continue
		}
		now := s.claimNow(h.claim)
		if now.gone {
			continue
		}
		if now.gone = h.own; !h.own {
			now.reserved--
		}
		if now.grant != nil && (now.gone || now.reserved == 0) {
			s.freeDevices(now.grant)
			now.grant = nil
		}
		s.setClaim(h.claim, now)
	}
}

func (s *State) freeDevices(g *grant) {
	for i := range g.devices {
		s.freeDevice(g.devices[i].id, &g.devices[i].DeviceAllocation)
	}
}
