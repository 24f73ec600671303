// Package volumebinding rejects nodes that cannot use the volumes of the pod's claims, or provide them
// (pkg/scheduler/framework/plugins/volumebinding, v1.37).
package volumebinding

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is VolumeBinding.
var Plugin = &plugin.Plugin{
	Name:      verdict.VolumeBinding,
	PreFilter: preFilter,
	Compile:   compile,
	// No event about a pod on a node makes kube-scheduler try again.
	Waits:   func(*plugin.Cycle) func(*plugin.Event) bool { return func(*plugin.Event) bool { return false } },
	Explain: explain,
	Score:   score,
	Weight:  func(w *api.Weights) *int64 { return &w.VolumeBinding },
}

// preFilter rejects a pod with a claim that cannot be bound now (volume_binding.go podHasPVCs and PreFilter, v1.37).
func preFilter(c *plugin.Cycle) plugin.PreFilterResult {
	reject := func(format string, args ...any) plugin.PreFilterResult {
		return plugin.PreFilterResult{
			Code: verdict.UnschedulableAndUnresolvable, Reason: verdict.Claim(fmt.Sprintf(format, args...)),
		}
	}
	for i := range c.Pod.Volumes {
		v := &c.Pod.Volumes[i]
		if v.Of == nil {
			continue
		}
		claim, found := c.State.FindClaim(v)
		of := claim.Object
		switch {
		case !found && v.Of.Ephemeral:
			return reject("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", v.Claim.Name)
		case !found:
			return reject("persistentvolumeclaim %q not found", v.Claim.Name)
		case of == nil:
		case of.Lost:
			return reject("persistentvolumeclaim %q bound to non-existent persistentvolume %q", of.Name, of.VolumeName)
		case of.Terminating:
			return reject("persistentvolumeclaim %q is being deleted", of.Name)
		case v.Of.Ephemeral && of.ControllerPod != c.Pod.Name:
			return plugin.PreFilterResult{
				Code: verdict.UnschedulableAndUnresolvable, Reason: verdict.NotOwner(of.Namespace, of.Name, c.Pod.Name),
			}
		}
	}
	claims := c.State.ClaimsOf(c.Pod)
	switch {
	case claims.Modeless != nil:
		return plugin.PreFilterResult{
			Code: verdict.Error, Reason: verdict.Claim(fmt.Sprintf("VolumeBindingMode not set for StorageClass %q", claims.Modeless.Name)),
		}
	case len(claims.Immediate) > 0:
		return reject("pod has unbound immediate PersistentVolumeClaims")
	}
	return plugin.PreFilterResult{}
}

// reasons are the reasons for which nodes are rejected, in the order of kube-scheduler's text.
var reasons = [...]verdict.ReasonType{
	verdict.ReasonVolumeNodeConflict, verdict.ReasonVolumeBindConflict, verdict.ReasonStorageCapacity, verdict.ReasonVolumeNotFound,
}

// compile rejects nodes by up to four reasons, in this order (binder.go FindPodVolumes, v1.37).
func compile(c *plugin.Cycle, s *rule.Set) {
	b := c.State.BindingOf(c.Pod)
	if b == nil || len(b.Refused) == 0 {
		return
	}
	var sets [len(reasons)]nodeset.Set
	for i, reason := range reasons {
		sets[i] = b.Rejected(reason)
	}
	// The nodes with several reasons come first: one rule for each combination.
	for combination := 1<<len(sets) - 1; combination > 0; combination-- {
		var all []verdict.Reason
		nodes := nodeset.Set(nil)
		for i, set := range sets {
			switch {
			case combination>>i&1 == 0:
				continue
			case set == nil:
				nodes = nodeset.New(c.State.Len())
			default:
				nodes = plugin.Both(nodes, set)
			}
			all = append(all, verdict.ReasonOf(reasons[i]))
		}
		for i, set := range sets {
			if combination>>i&1 == 0 && set != nil {
				nodes = nodes.Minus(set)
			}
		}
		if !nodes.Empty() {
			s.Static = append(s.Static, rule.Static{
				ID:       verdict.PodRule{Plugin: verdict.VolumeBinding},
				Code:     verdict.UnschedulableAndUnresolvable,
				Reason:   all[0],
				Also:     all[1:],
				Rejected: nodes,
			})
		}
	}
}

// score prefers the nodes whose volumes or capacities are used least (volume_binding.go Score and scorer.go, v1.37). kube-scheduler gives
// a pod without claims 0 on every node.
func score(c *plugin.Cycle, feasible []uint32) []int64 {
	b := c.State.BindingOf(c.Pod)
	if b == nil {
		return nil
	}
	scores := c.Scores(len(feasible))
	b.Scores(feasible, scores)
	return scores
}

// explain lists the candidates on which each claim cannot be used: all of them for a claim that should be bound already.
func explain(c *plugin.Cycle, x *plugin.Explaining) {
	add := func(claim *cluster.PodClaim, reason verdict.ReasonType, nodes []uint32) {
		if len(nodes) == 0 || !c.State.Explain(verdict.EntryCost+len(nodes)) {
			return
		}
		conflict := verdict.ClaimConflict{
			Namespace: claim.Claim.Namespace, Name: claim.Claim.Name, Class: claim.Spec.StorageClassName, Reason: reason, Nodes: nodes,
		}
		conflict.SelectedNode = c.State.SelectedNode(claim)
		if claim.Object != nil {
			conflict.Volume = claim.Object.VolumeName
		}
		x.ClaimConflicts = append(x.ClaimConflicts, conflict)
	}
	if len(c.Pod.Volumes) == 0 {
		return
	}
	claims := c.State.ClaimsOf(c.Pod)
	for i := range claims.Immediate {
		add(&claims.Immediate[i], verdict.ReasonClaim, x.Candidates.Indexes())
	}
	if b := c.State.BindingOf(c.Pod); b != nil {
		for i := range b.Refused {
			r := &b.Refused[i]
			add(&r.PodClaim, r.Reason, plugin.Both(x.Candidates, r.Nodes).Indexes())
		}
	}
}
