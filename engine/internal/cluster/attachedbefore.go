package cluster

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// attachedBefore is what the nodes of a cluster had attached, and what has changed since. A cluster that is derived from it has the same
// nodes. It need not be the base, of which perhaps no call needed the attachments.
type attachedBefore struct {
	known   *attachments
	nodes   []uint32 // with other pods, limits or VolumeAttachments
	claims  []ClaimName
	volumes []string
}

// mostSince is the number of claims and volumes, and the share of nodes, from which on all nodes are counted again.
const (
	mostSince      = 256
	mostNodesSince = 4
)

// attachedBefore returns what is known of the clusters that the builder's is derived from; nil for nothing.
func (b *Builder) attachedBefore() *attachedBefore {
	base, storage := b.base, &b.storage
	others := len(storage.Set.Classes) + len(storage.Removed.Classes)
	if base.attachments == nil || b.added || b.removed || others > 0 || len(b.c.volumeGroups) == 0 {
		return nil
	}
	next := attachedBefore{known: base.attachments}
	if next.known.Taken() == 0 {
		if base.attachedBefore == nil {
			return nil
		}
		next = *base.attachedBefore
	}
	next.nodes = slices.Concat(next.nodes, b.touched)
	next.claims, next.volumes = slices.Concat(next.claims, storage.Removed.Claims), slices.Concat(next.volumes, storage.Removed.Volumes)
	for i := range storage.Set.Claims {
		c := &storage.Set.Claims[i]
		next.claims = append(next.claims, ClaimName{Namespace: c.Namespace, Name: c.Name})
	}
	for i := range storage.Set.Volumes {
		next.volumes = append(next.volumes, storage.Set.Volumes[i].Name)
	}
	if len(next.nodes) > b.c.Len()/mostNodesSince || len(next.claims)+len(next.volumes) > mostSince {
		return nil
	}
	return &next
}

// before returns what was attached of a driver, nil if it is not known.
func (a *attachedBefore) before(driver string) *driverUse {
	if a == nil {
		return nil
	}
	use, _ := a.known.Load(driver)
	return use
}

// attachOther returns the nodes that may have other volumes attached than before.
func (c *Cluster) attachOther() nodeset.Set {
	since, nodes := c.attachedBefore, nodeset.New(c.Len())
	for _, node := range since.nodes {
		nodes.Add(node)
	}
	volumes, claims := make(map[string]bool), make(map[ClaimName]bool)
	for _, name := range since.volumes {
		volumes[name] = true
	}
	for _, name := range since.claims {
		claims[name] = true
	}
	if len(volumes) > 0 {
		for name, claim := range c.storage.claims.All {
			if volumes[claim.VolumeName] {
				claims[name] = true
			}
		}
		lists := Values(c, attached)
		table := make([]uint8, len(lists))
		for i, names := range lists {
			table[i] = flag(slices.ContainsFunc(names, func(name string) bool { return volumes[name] }))
		}
		nodes.Or(Having(c, attached, table))
	}
	if len(claims) == 0 {
		return nodes
	}
	for _, i := range c.volumeGroups {
		g := c.groups.get(i)
		if slices.ContainsFunc(g.Volumes, func(v Volume) bool { return claims[v.Claim] }) {
			for node := range g.All() {
				nodes.Add(node)
			}
		}
	}
	return nodes
}
