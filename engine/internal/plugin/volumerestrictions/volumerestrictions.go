// Package volumerestrictions rejects nodes where another pod uses a disk of the pod, and every node while another pod uses a claim with
// the access mode ReadWriteOncePod of the pod (pkg/scheduler/framework/plugins/volumerestrictions, v1.37).
package volumerestrictions

import (
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is VolumeRestrictions.
var Plugin = &plugin.Plugin{
	Name:      verdict.VolumeRestrictions,
	PreFilter: preFilter,
	Compile:   compile,
	Waits:     waits,
	Explain:   explain,
}

// preFilter rejects a pod with a claim that does not exist: its access modes are unknown. Claims of ephemeral volumes are not checked.
func preFilter(c *plugin.Cycle) plugin.PreFilterResult {
	for i := range c.Pod.Volumes {
		v := &c.Pod.Volumes[i]
		if v.Of == nil || v.Of.Ephemeral {
			continue
		}
		if _, found := c.State.FindClaim(v); !found {
			return plugin.PreFilterResult{
				Code:   verdict.UnschedulableAndUnresolvable,
				Reason: verdict.Claim(fmt.Sprintf("persistentvolumeclaim %q not found", v.Claim.Name)),
			}
		}
	}
	return plugin.PreFilterResult{}
}

func compile(c *plugin.Cycle, s *rule.Set) {
	if len(c.Pod.Volumes) == 0 {
		return
	}
	disks := hasDisks(c.Pod.Volumes)
	if disks {
		own := c.Pod.Volumes
		s.Exclusions = append(s.Exclusions, rule.NewExclusion(c.State, rule.Exclusion{
			ID:       verdict.PodRule{Plugin: verdict.VolumeRestrictions},
			Reason:   verdict.ReasonOf(verdict.ReasonDiskConflict),
			Pods:     rule.Matching(c.State.WithVolumes(), func(g *cluster.Group) bool { return conflict(own, g.Volumes) }),
			Excludes: func(other *cluster.Pending) bool { return conflict(own, other.Volumes) },
		}))
	}
	if use := newUse(c); use != nil && (disks || use.counts[everywhere] > 0) {
		s.Others = append(s.Others, use)
	}
}

func hasDisks(volumes []cluster.Volume) bool {
	return slices.ContainsFunc(volumes, func(v cluster.Volume) bool { return v.Disk.Kind != api.OtherDisk })
}

// conflict reports whether two pods use a disk that they cannot share.
func conflict(a, b []cluster.Volume) bool {
	return slices.ContainsFunc(a, func(x cluster.Volume) bool {
		return slices.ContainsFunc(b, func(y cluster.Volume) bool { return clash(&x.Disk, &y.Disk) })
	})
}

// clash reports whether two uses of a disk exclude each other on a node.
func clash(a, b *api.Disk) bool {
	switch {
	case a.Kind == api.OtherDisk || a.Kind != b.Kind || a.ID != b.ID:
		return false
	case a.Kind == api.AWSElasticBlockStore:
		return true
	case a.ReadOnly && b.ReadOnly:
		return false
	}
	return a.Kind != api.RBD || slices.ContainsFunc(a.Monitors, func(m string) bool { return slices.Contains(b.Monitors, m) })
}

// waits returns a predicate for the pods whose departure may help: pods of the namespace with a disk that conflicts or with a claim of
// the same name (volume_restrictions.go isSchedulableAfterAssignedPodDeleted, v1.37).
func waits(c *plugin.Cycle) func(*plugin.Event) bool {
	own := c.Pod.Volumes
	return func(e *plugin.Event) bool {
		if !e.Left || e.Namespace != c.Pod.Namespace {
			return false
		}
		return conflict(own, e.Volumes) || slices.ContainsFunc(own, func(v cluster.Volume) bool {
			return slices.ContainsFunc(e.Volumes, func(other cluster.Volume) bool { return v.SameClaim(&other) })
		})
	}
}

// explain lists the pods that use the pod's disks on its candidates, and its claims with the access mode ReadWriteOncePod anywhere.
func explain(c *plugin.Cycle, x *plugin.Explaining) {
	own := c.Pod.Volumes
	var exclusive *use
	for _, k := range x.Rules.Others {
		exclusive = k.(*use)
	}
	for i, g := range c.State.WithVolumes() {
		disk := conflict(own, g.Volumes)
		claim := exclusive != nil && exclusive.sharedWith(own, g)
		if !disk && !claim {
			continue
		}
		for node := range g.All() {
			if disk && !claim && !x.Candidates.Has(node) {
				continue
			}
			for _, holder := range c.State.ConflictingPods(node, i, verdict.MaxConflictingPods) {
				if len(x.VolumeUsers) == verdict.MaxDetails || !c.State.Explain(verdict.EntryCost) {
					return
				}
				x.VolumeUsers = append(x.VolumeUsers, holder)
			}
		}
	}
}
