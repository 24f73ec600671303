package cluster

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// match finds the volume of a claim on each node: the one that is reserved for it, or the smallest that meets it and that no claim
// before it takes (k8s.io/component-helpers/storage/volume/pv_helpers.go FindMatchingVolume, v0.37).
func (b *Binding) match(in nodeset.Set, c PodClaim) {
	s, to := b.state, boundTo{PodClaim: c, provisioned: in.Clone()}
	open := in.Clone()
	take := func(v *api.PersistentVolume, nodes iter.Seq[uint32]) {
		for node := range nodes {
			if b.taken(v, node) {
				continue
			}
			if to.found == nil {
				to.found = make([]*api.PersistentVolume, s.Len())
			}
			to.found[node] = v
			open.Remove(node)
			to.provisioned.Remove(node)
		}
	}
	for _, v := range s.reservedFor(&c) {
		if v.StorageClassName != c.Spec.StorageClassName || !s.meets(v, &c) {
			continue
		}
		hit := open.Clone()
		for node := range open.All() {
			if b.taken(v, node) { // by the same claim in another volume of the pod
				hit.Remove(node)
			}
		}
		open.AndNot(hit) // it keeps every other volume from being taken, whether or not it can be used
		take(v, s.reached(hit, v.NodeAffinity))
	}
	compiled := (*selector.Selector)(nil)
	if c.Spec.Selector != nil {
		compiled = selector.CompileSelector(s.Symbols, c.Spec.Selector)
	}
	free := s.storage.free[c.Spec.StorageClassName]
	first, _ := slices.BinarySearchFunc(free, c.Spec.Bytes(), func(v *api.PersistentVolume, bytes int64) int { return cmp.Compare(v.Capacity, bytes) })
	for _, v := range free[first:] {
		if open.Empty() || s.Ended() {
			break
		}
		if _, gone := s.bindings.reserved[v.Name]; gone || !s.meets(v, &c) || !v.AccessModes.Has(c.Spec.AccessModes) {
			continue
		}
		if c.Spec.Selector != nil && !compiled.Matches(selector.CompileLabels(s.Symbols, v.Labels)) {
			continue
		}
		take(v, s.reached(open, v.NodeAffinity))
	}
	b.claims = append(b.claims, to)
}

// taken reports whether a claim before the next one takes a volume on a node.
func (b *Binding) taken(v *api.PersistentVolume, node uint32) bool {
	return slices.ContainsFunc(b.claims, func(c boundTo) bool { return c.at(node) == v })
}

// reservedFor returns the volumes that name a claim, in the cluster or since the request bound it, in the order of their names.
func (s *State) reservedFor(c *PodClaim) (volumes []*api.PersistentVolume) {
	if c.Claim.Name == "" {
		return nil
	}
	for _, v := range s.storage.reserved.Get(c.Claim) {
		if v.Claim.UID == "" || c.Object != nil && v.Claim.UID == c.Object.UID {
			volumes = append(volumes, v)
		}
	}
	for name, claim := range s.bindings.reserved {
		if claim == c.Claim {
			volumes = append(volumes, s.storage.Volume(name))
		}
	}
	slices.SortFunc(volumes, func(a, b *api.PersistentVolume) int { return strings.Compare(a.Name, b.Name) })
	return volumes
}

// meets reports whether a volume has what a claim requires of volumes that are reserved for it, too.
func (s *State) meets(v *api.PersistentVolume, c *PodClaim) bool {
	block := func(m api.VolumeMode) bool { return m == api.Block }
	return v.Capacity >= c.Spec.Bytes() && block(v.VolumeMode) == block(c.Spec.VolumeMode) &&
		v.VolumeAttributesClassName == c.Spec.VolumeAttributesClassName && !v.Terminating
}

// provision checks where the volumes can be provisioned that no volume of the cluster can be (binder.go checkVolumeProvisions, v1.37).
// The first claim that fails on a node decides about its reason.
func (b *Binding) provision(in nodeset.Set) {
	s, rest := b.state, in.Clone()
	for i := range b.claims {
		c := &b.claims[i]
		c.provisioned.And(rest)
		if c.provisioned.Empty() {
			continue
		}
		class := s.storage.Class(c.Spec.StorageClassName)
		allowed := nodeset.New(s.Len())
		if class != nil && class.Provisioner != "" && class.Provisioner != api.NoProvisioner {
			if allowed = nodeset.Full(s.Len()); class.AllowedTopologies != nil {
				allowed = s.remember(allowedBy{class.AllowedTopologies}, func() nodeset.Set { return s.Selected(class.AllowedTopologies) }).set(s.Len())
			}
		}
		refused := c.provisioned.Minus(allowed)
		b.refuse(c.PodClaim, verdict.ReasonVolumeBindConflict, refused)
		rest.AndNot(refused)
		c.provisioned.AndNot(refused)
		full := b.roomFor(c, class)
		b.refuse(c.PodClaim, verdict.ReasonStorageCapacity, full)
		rest.AndNot(full)
	}
}

// roomFor finds the capacities for the volume of a claim, and returns the nodes where it is provisioned that have none
// (binder.go hasEnoughCapacity, v1.37). Of several capacities, the first by namespace and name counts.
func (b *Binding) roomFor(c *boundTo, class *api.StorageClass) nodeset.Set {
	s := b.state
	full := nodeset.New(s.Len())
	if class == nil || c.Spec.StorageRequest == nil || c.provisioned.Empty() {
		return full
	}
	if driver := s.storage.Driver(class.Provisioner); driver == nil || !driver.StorageCapacity {
		return full
	}
	full = c.provisioned.Clone()
	c.capacities = make([]*api.StorageCapacity, s.Len())
	for _, of := range s.storage.capacities[class.Name] {
		if limit, ok := of.Limit(); !ok || limit < *c.Spec.StorageRequest {
			continue
		}
		topology := s.remember(capacityFor{of.NodeTopology}, func() nodeset.Set { return s.Labelled(of.NodeTopology) })
		for node := range topology.within(full) {
			c.capacities[node] = of
			full.Remove(node)
		}
	}
	return full
}
