package cluster

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// found is what a search finds on all nodes of a cluster for claims of some specs, for which nothing is reserved. Pods whose claims differ
// in their names share it. It is immutable.
type found struct {
	claims  []boundTo
	refused []Refusal
	// These are the indexes of the claims, in the order of the pod.
	ofClaims, ofRefused []int
}

// foundFor returns what a search for claims finds, if they are like the claims of other pods in everything but their names; otherwise nil.
func (s *State) foundFor(delayed []PodClaim) *found {
	var key []byte
	for i := range delayed {
		c := &delayed[i]
		if c.Claim.Name != "" && (len(s.storage.reserved.Get(c.Claim)) > 0 || s.SelectedNode(c) != "") {
			return nil
		}
		key = appendClaimSpec(key, c.Spec)
	}
	if len(s.bindings.reserved) > 0 {
		return nil
	}
	return s.found.Get(string(key), func() (*found, int64, bool) {
		of := s.find(nodeset.Full(s.Len()), delayed)
		return of, of.bytes() + int64(len(key)), !s.Ended()
	})
}

func (s *State) find(in nodeset.Set, delayed []PodClaim) *found {
	b := Binding{state: s}
	b.search(in, delayed)
	of := &found{claims: b.claims, refused: b.Refused}
	index := func(c *PodClaim) int {
		at := slices.IndexFunc(delayed, func(d PodClaim) bool { return d.Volume == c.Volume })
		*c = PodClaim{} // it is the pod's
		return at
	}
	for i := range of.claims {
		of.ofClaims = append(of.ofClaims, index(&of.claims[i].PodClaim))
	}
	for i := range of.refused {
		of.ofRefused = append(of.ofRefused, index(&of.refused[i].PodClaim))
	}
	return of
}

// adopt takes over what was found for claims like these.
func (b *Binding) adopt(of *found, delayed []PodClaim) {
	b.claims = slices.Clone(of.claims)
	for i, at := range of.ofClaims {
		b.claims[i].PodClaim = delayed[at]
	}
	for i, at := range of.ofRefused {
		r := of.refused[i]
		r.PodClaim = delayed[at]
		b.Refused = append(b.Refused, r)
	}
}

func (f *found) bytes() (bytes int64) {
	for i := range f.claims {
		c := &f.claims[i]
		bytes += int64(sizeOf[boundTo]() + 8*(1+len(c.found)+len(c.provisioned)+len(c.capacities)))
	}
	for i := range f.refused {
		bytes += int64(sizeOf[Refusal]() + 8*(1+len(f.refused[i].Nodes)))
	}
	return bytes
}

// appendClaimSpec appends a key of all fields of a claim's spec.
func appendClaimSpec(b []byte, c *api.ClaimSpec) []byte {
	b = appendText(appendText(b, c.StorageClassName), c.VolumeAttributesClassName)
	m := c.AccessModes
	b = append(b, flag(m.ReadWriteOnce)|flag(m.ReadOnlyMany)<<1|flag(m.ReadWriteMany)<<2|flag(m.ReadWriteOncePod)<<3, byte(c.VolumeMode))
	b = append(b, flag(c.StorageRequest != nil), flag(c.Selector != nil))
	if c.StorageRequest != nil {
		b = binary.AppendVarint(b, *c.StorageRequest)
	}
	if c.Selector == nil {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(c.Selector.MatchLabels)))
	for _, l := range c.Selector.MatchLabels {
		b = appendText(appendText(b, l.Key), l.Value)
	}
	b = binary.AppendUvarint(b, uint64(len(c.Selector.MatchExpressions)))
	for i := range c.Selector.MatchExpressions {
		b = appendRequirement(b, &c.Selector.MatchExpressions[i])
	}
	return b
}
