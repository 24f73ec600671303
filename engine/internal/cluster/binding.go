package cluster

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// PodClaim is a claim that a pod uses, as a state has it.
type PodClaim struct {
	*Volume
	// Object is the claim; nil if the cluster has none and a controller creates it.
	Object *api.PersistentVolumeClaim
	Spec   *api.ClaimSpec
}

// isShared reports whether the volume of a claim that does not exist yet can be used on other nodes than the node of its first pod.
func (c *PodClaim) isShared() bool {
	return c.Object == nil && (c.Spec.AccessModes.ReadWriteMany || c.Spec.AccessModes.ReadOnlyMany)
}

// SelectedNode returns the name of the node that the claim is provisioned for, empty for none.
func (s *State) SelectedNode(c *PodClaim) string {
	if node, ok := s.bindings.selected[c.Claim]; ok && c.Claim.Name != "" {
		return s.Names[node]
	}
	if c.Object != nil {
		return c.Object.SelectedNode
	}
	return ""
}

// FindClaim returns a claim of a pod, and whether there is one: the cluster's, or the one that a controller creates.
func (c *Cluster) FindClaim(v *Volume) (PodClaim, bool) {
	if object := c.storage.Claim(v.Claim); object != nil && v.Claim.Name != "" {
		return PodClaim{v, object, &object.Spec}, true
	}
	return PodClaim{v, nil, v.Of.Template}, v.Of.Template != nil
}

// PodClaims are the claims of a pod, by how far they are bound (binder.go GetPodVolumeClaims, v1.37).
type PodClaims struct {
	Bound []PodClaim
	// Delayed are bound when the pod has a node. Claims that do not exist yet are, whatever the mode of their class, and without a class if
	// there are volumes without one. Immediate should be bound already, and are not.
	Delayed, Immediate []PodClaim
	// Modeless is the first class without a binding mode, nil if there is none.
	Modeless *api.StorageClass
}

// ClaimsOf returns the claims of a pod that exist.
func (s *State) ClaimsOf(p *Pending) (out PodClaims) {
	for i := range p.Volumes {
		v := &p.Volumes[i]
		if v.Of == nil {
			continue
		}
		c, found := s.FindClaim(v)
		if !found {
			continue
		}
		if c.Object != nil && c.Object.Bound() {
			out.Bound = append(out.Bound, c)
			continue
		}
		class := s.storage.Class(c.Spec.StorageClassName)
		switch {
		case class != nil && class.VolumeBindingMode == api.NoBindingMode:
			out.Modeless = class
			return out
		case c.Object == nil && (class != nil || c.Spec.StorageClassName == "" && len(s.storage.free[""]) > 0),
			class != nil && class.VolumeBindingMode == api.WaitForFirstConsumer && c.Object.VolumeName == "":
			out.Delayed = append(out.Delayed, c)
		default:
			out.Immediate = append(out.Immediate, c)
		}
	}
	return out
}

// bindVolumes binds the claims of an assumed pod that waited for its node.
func (s *State) bindVolumes(p *Pending, node uint32) {
	if len(p.Volumes) == 0 {
		return
	}
	if last := &s.bindings.last; last.pod == p && last.changes == s.bindings.changes {
		if last.Binding != nil {
			last.reserve(node)
		}
		return
	}
	claims := s.ClaimsOf(p)
	if len(claims.Delayed) == 0 {
		return
	}
	b := Binding{state: s}
	b.search(nodeset.Of(s.Len(), []uint32{node}), claims.Delayed)
	b.reserve(node)
}

// Binding is where the claims of a pod may be: what kube-scheduler's VolumeBinding finds out about all nodes
// (pkg/scheduler/framework/plugins/volumebinding/binder.go FindPodVolumes, v1.37).
type Binding struct {
	// Refused are the claims that cannot be used on some nodes. A node may have several reasons.
	Refused []Refusal

	state  *State
	claims []boundTo // in the order in which they look for volumes
}

// Refusal is the nodes on which a claim cannot be used for a reason.
type Refusal struct {
	PodClaim
	Reason verdict.ReasonType
	Nodes  nodeset.Set
}

// boundTo is a claim that gets its volume together with the pod's node.
type boundTo struct {
	PodClaim
	found       []*api.PersistentVolume // by node: the volume that the claim is bound to; nil if no node has one
	provisioned nodeset.Set             // where a volume is provisioned
	// capacities are, by node, the capacity that has room for the volume; nil if none counts.
	capacities []*api.StorageCapacity
}

// bindings is what the request has bound.
type bindings struct {
	// reserved are the claims of volumes that had none, by the volume's name.
	reserved map[string]ClaimName
	// selected are the nodes that volumes are provisioned for, by claim.
	selected map[ClaimName]uint32
	// made are the bindings in the order in which they were made.
	made []verdict.ClaimBinding
	// changes counts how often reserved and selected have changed.
	changes int
	last    lastBinding
}

// lastBinding is the last binding that was requested, and the pod and the number of changes that it is for.
type lastBinding struct {
	pod     *Pending
	changes int
	*Binding
}

// BindingOf finds out about all nodes; nil if the pod has no claims that are bound, or that wait for its node. The result must not be
// changed. Everything that decides about one pod reads one binding.
func (s *State) BindingOf(p *Pending) *Binding {
	if len(p.Volumes) == 0 {
		return nil
	}
	if last := &s.bindings.last; last.pod == p && last.changes == s.bindings.changes {
		return last.Binding
	}
	last := lastBinding{pod: p, changes: s.bindings.changes}
	if claims := s.ClaimsOf(p); len(claims.Bound)+len(claims.Delayed) > 0 {
		last.Binding = &Binding{state: s}
		last.checkBound(nodeset.Full(s.Len()), claims.Bound)
		if of := s.foundFor(claims.Delayed); of != nil {
			last.adopt(of, claims.Delayed)
		} else {
			last.search(nodeset.Full(s.Len()), claims.Delayed)
		}
	}
	s.bindings.last = last
	return last.Binding
}

// search finds out about some nodes for claims that wait for the pod's node, in the order of the pod.
func (b *Binding) search(in nodeset.Set, delayed []PodClaim) {
	s := b.state
	rest := in.Clone()
	var search, provision []PodClaim
	for _, c := range delayed {
		selected := s.SelectedNode(&c)
		if selected == "" {
			search = append(search, c)
			continue
		}
		provision = append(provision, c)
		if c.isShared() {
			continue
		}
		there := nodeset.New(s.Len())
		if node, ok := s.Node(selected); ok && rest.Has(node) {
			there.Add(node)
		}
		b.refuse(c, verdict.ReasonVolumeBindConflict, rest.Minus(there))
		rest = there
	}
	slices.SortStableFunc(search, func(x, y PodClaim) int { return cmp.Compare(x.Spec.Bytes(), y.Spec.Bytes()) })
	for i := range provision {
		b.claims = append(b.claims, boundTo{PodClaim: provision[i], provisioned: rest.Clone()})
	}
	for i := range search {
		b.match(rest, search[i])
	}
	b.provision(rest)
}

func (b *Binding) refuse(c PodClaim, reason verdict.ReasonType, nodes nodeset.Set) {
	if !nodes.Empty() {
		b.Refused = append(b.Refused, Refusal{c, reason, nodes})
	}
}

// Rejected returns the nodes that are rejected for a reason; nil for none.
func (b *Binding) Rejected(reason verdict.ReasonType) (nodes nodeset.Set) {
	for i := range b.Refused {
		switch r := &b.Refused[i]; {
		case r.Reason != reason:
		case nodes == nil:
			nodes = r.Nodes.Clone()
		default:
			nodes.Or(r.Nodes)
		}
	}
	return nodes
}

// checkBound compares the volumes of bound claims with the nodes. A claim whose volume does not exist ends the comparison.
func (b *Binding) checkBound(in nodeset.Set, bound []PodClaim) {
	rest := in
	for _, c := range bound {
		v := b.state.storage.Volume(c.Object.VolumeName)
		if v == nil {
			b.refuse(c, verdict.ReasonVolumeNotFound, rest)
			return
		}
		if reach := b.state.Reach(v); reach != nil {
			b.refuse(c, verdict.ReasonVolumeNodeConflict, rest.Minus(reach))
			rest = rest.Clone()
			rest.And(reach)
		}
	}
}

// Reach returns the nodes that can use a volume, which must not be changed; nil for all.
func (s *State) Reach(v *api.PersistentVolume) nodeset.Set {
	in := s.setOf(v.NodeAffinity)
	if v.InTreePlugin == "" || v.MigratedNodeAffinity == nil {
		return in
	}
	migrated := s.WithCSINode(func(n *api.CSINode) bool { return n != nil && slices.Contains(n.MigratedPlugins, v.InTreePlugin) })
	if migrated.Empty() {
		return in
	}
	out := nodeset.Full(s.Len()).Minus(migrated)
	if in != nil {
		out.And(in)
	}
	migrated.And(s.setOf(v.MigratedNodeAffinity))
	out.Or(migrated)
	return out
}

// reserve keeps the volumes of the pod that was assumed last from other claims, and its claims from other nodes (binder.go
// AssumePodVolumes, v1.37).
func (b *Binding) reserve(node uint32) {
	s := b.state
	pod := len(s.assumed) - 1
	bind := func(c *boundTo, volume string) {
		before := len(s.bindings.made)
		s.bindings.made = append(s.bindings.made, verdict.ClaimBinding{
			Namespace: c.Claim.Namespace, Name: c.Claim.Name, Volume: volume, Node: node, Queue: s.assumed[pod].queue, Pod: pod,
		})
		s.note(func() { s.bindings.made = s.bindings.made[:before] })
	}
	for i := range b.claims { // volumes come first, as in kube-scheduler
		c := &b.claims[i]
		v := c.at(node)
		if v == nil || v.Claim != nil {
			continue
		}
		if _, had := s.bindings.reserved[v.Name]; !had {
			assign(s, &s.bindings.reserved, v.Name, c.Claim)
			bind(c, v.Name)
		}
	}
	for i := range b.claims {
		c := &b.claims[i]
		if c.at(node) == nil && c.Claim.Name != "" && s.SelectedNode(&c.PodClaim) == "" {
			assign(s, &s.bindings.selected, c.Claim, node)
			bind(c, "")
		}
	}
}

// at returns the volume that the claim is bound to on a node, nil if it is provisioned there.
func (c *boundTo) at(node uint32) *api.PersistentVolume {
	if c.found == nil {
		return nil
	}
	return c.found[node]
}

// assign sets a value of a map, which may be nil, until that is undone.
func assign[K comparable, V any](s *State, to *map[K]V, key K, value V) {
	if *to == nil {
		*to = make(map[K]V)
	}
	of := *to
	before, had := of[key]
	of[key] = value
	s.bindings.changes++
	s.note(func() {
		s.bindings.changes++
		if of[key] = before; !had {
			delete(of, key)
		}
	})
}

// ClaimBindings returns the claims that assumed pods bound, in the order in which they did. It must not be changed.
func (s *State) ClaimBindings() []verdict.ClaimBinding { return s.bindings.made }
