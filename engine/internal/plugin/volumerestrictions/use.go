package volumerestrictions

import (
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// use is the rule of claims with the access mode ReadWriteOncePod: no other pod of the cluster may use them. All nodes are one domain.
//
// The count begins with the number of the pod's claims that are in use. A pod that comes or leaves changes it by the number of its
// volumes whose claims have the name of one of them, in any namespace, as in kube-scheduler's AddPod and RemovePod.
type use struct {
	state  *cluster.State
	column *topology.Column
	names  map[string]bool
	counts []int64
}

// everywhere is the domain of all nodes.
const everywhere = topology.None + 1

// newUse returns the rule of a pod, nil if it has no such claim.
func newUse(c *plugin.Cycle) *use {
	var exclusive []*cluster.Volume
	names := make(map[string]bool)
	for i := range c.Pod.Volumes {
		v := &c.Pod.Volumes[i]
		if v.Of == nil || v.Of.Ephemeral || v.Claim.Name == "" || names[v.Claim.Name] {
			continue
		}
		if claim, found := c.State.FindClaim(v); found && claim.Spec.AccessModes.ReadWriteOncePod {
			exclusive, names[v.Claim.Name] = append(exclusive, v), true
		}
	}
	if len(exclusive) == 0 {
		return nil
	}
	r := &use{state: c.State, column: topology.Everywhere(c.State.Len()), names: names, counts: make([]int64, everywhere+1)}
	for _, v := range exclusive {
		for _, g := range c.State.WithVolumes() {
			if uses(g, v) && g.Pods() > 0 {
				r.counts[everywhere]++
				break
			}
		}
	}
	return r
}

func (r *use) Rule() verdict.PodRule { return verdict.PodRule{Plugin: verdict.VolumeRestrictions} }

func (r *use) Column() *topology.Column { return r.column }

func (r *use) Rejection() (verdict.Code, verdict.Reason) {
	return verdict.Unschedulable, verdict.ReasonOf(verdict.ReasonReadWriteOncePod)
}

func (r *use) Groups() iter.Seq2[int, *cluster.Group] {
	return rule.Matching(r.state.WithVolumes(), func(g *cluster.Group) bool { return r.Weight(g) > 0 }).Groups
}

func (r *use) Weight(g *cluster.Group) (n int64) {
	for i := range g.Volumes {
		if v := &g.Volumes[i]; v.Of != nil && !v.Of.Ephemeral && r.names[v.Claim.Name] {
			n++
		}
	}
	return n
}

func (r *use) Domain(uint32) (domain int32, in bool) { return everywhere, true }

func (r *use) Counts() []int64 { return r.counts }

func (r *use) Add(_ uint32, weight int64) bool {
	before := r.counts[everywhere] > 0
	r.counts[everywhere] += weight
	return before != (r.counts[everywhere] > 0)
}

func (r *use) Excess(_ uint32, more int64) int64 { return max(0, r.counts[everywhere]+more) }

func (r *use) Rejected() nodeset.Set {
	if r.counts[everywhere] > 0 {
		return r.column.Having
	}
	return nodeset.New(r.state.Len())
}

func (r *use) Fork() rule.Kind {
	fork := *r
	fork.counts = slices.Clone(r.counts)
	return &fork
}

// uses reports whether pods of a group use the claim of a volume.
func uses(g *cluster.Group, v *cluster.Volume) bool {
	return slices.ContainsFunc(g.Volumes, func(other cluster.Volume) bool { return v.SameClaim(&other) })
}

// sharedWith reports whether pods of a group use one of the claims.
func (r *use) sharedWith(own []cluster.Volume, g *cluster.Group) bool {
	return slices.ContainsFunc(own, func(v cluster.Volume) bool { return r.names[v.Claim.Name] && uses(g, &v) })
}
