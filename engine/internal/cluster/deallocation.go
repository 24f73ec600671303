package cluster

import "slices"

// Deallocation returns what DynamicResources reports of a pod without feasible nodes: that it takes the devices of a claim that no other pod
// uses, because some node would be feasible without that claim, or that it deletes a claim that an earlier attempt left; empty for nothing.
// unavailable are the nodes that are rejected because of a claim with devices. What it changes is not simulated (dynamicresources.go
// deallocateOrDeletePodClaims, v1.37).
func (s *State) Deallocation(p *Pending, unavailable []uint32) string {
	d := s.DemandOf(p)
	switch {
	case d == nil || d.Rejection != "":
		return ""
	case d.Left != nil:
		return "deletion of ResourceClaim completed"
	}
	for i := range d.Claims {
		c := &d.Claims[i]
		g := s.allocationOf(c)
		if g == nil {
			continue
		}
		others := s.claimNow(c.Name).reserved
		if p.Name != "" && slices.Contains(c.Object.ReservedFor, p.Name) {
			others--
		}
		if usable := s.usableOn(g); others == 0 && slices.ContainsFunc(unavailable, func(node uint32) bool { return !usable(node) }) {
			return "deallocation of ResourceClaim completed"
		}
	}
	return ""
}
