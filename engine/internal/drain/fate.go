package drain

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Filters are the flags of kubectl drain.
type Filters struct {
	// Force evicts pods without a controller, and pods whose DaemonSet does not exist.
	Force bool
	// DeleteEmptyDirData evicts pods with an emptyDir volume.
	DeleteEmptyDirData bool
	// RefuseDaemonSetPods refuses pods of a DaemonSet, which stay otherwise.
	RefuseDaemonSetPods bool
}

// filter returns whether kubectl drain leaves pods where they are, or why it refuses to evict them. It applies the filters in
// kubectl's order, and the first one that keeps a pod decides (k8s.io/kubectl/pkg/drain/filters.go makeFilters, v0.37).
func (f Filters) filter(t cluster.Traits) (stays bool, refused verdict.BlockedReason) {
	daemonSet := t.Controller == api.DaemonSet && !t.Mirror
	switch {
	case daemonSet && t.Gone && !f.Force:
		return false, verdict.BlockedWithoutDaemonSet
	case daemonSet && !t.Gone && f.RefuseDaemonSetPods:
		return false, verdict.BlockedAsDaemonSetPod
	case daemonSet && !t.Gone, t.Mirror:
		return true, 0
	case t.EmptyDir && !f.DeleteEmptyDirData:
		return false, verdict.BlockedByEmptyDir
	case t.Controller == api.NoWorkload && !f.Force:
		return false, verdict.BlockedWithoutController
	}
	return false, 0
}

// fate is the outcome for the pods of a group when their node is drained.
type fate struct {
	of    cluster.PodKind
	stays bool
	// filtered is why kubectl does not evict them, 0 if it does.
	filtered verdict.BlockedReason
	created  cluster.Replacement
	left     bool // created is left to another scheduler
	// budgets are the PodDisruptionBudgets that select them, names their names, and budget the only one of them, which evictions
	// use up, -1 for none. several reports whether there are more than one, so that the API server evicts none of the pods. cut
	// reports whether some are missing, because all fates have too many: two or more are there then.
	budgets []int32
	names   []string
	cut     bool
	budget  int32
	several bool
	// entry is the index of created in plan.pending, -1 if nothing comes back.
	entry int
}

// refusal is why pods are never evicted, 0 if they may be. The API server looks at no budgets of pods that have not started
// (pkg/registry/core/pod/storage/eviction.go canIgnorePDB, v1.37).
func (f *fate) refusal(r api.Readiness) verdict.BlockedReason {
	if f.filtered == 0 && f.several && r != api.PhasePending {
		return verdict.BlockedBySeveralBudgets
	}
	return f.filtered
}

// fateOf returns the fate of pods.
func (p *plan) fateOf(s *cluster.State, of cluster.PodKind) *fate {
	g := s.Group(of.Group)
	out := &fate{of: of, budget: -1, entry: -1}
	if out.stays, out.filtered = p.filter(of.Traits); out.stays {
		return out
	}
	if g.Terminating {
		return out
	}
	out.budgets = s.Budgets().Evicting(g)
	if most := max(2, verdict.MaxListedPods-p.listed); len(out.budgets) > most {
		out.budgets, out.cut = slices.Clone(out.budgets[:most]), true
	}
	p.listed += len(out.budgets)
	for _, b := range out.budgets {
		out.names = append(out.names, s.Budgets().At(b).Name)
	}
	if !p.IgnoreBudgets {
		out.several = len(out.budgets) > 1
		if len(out.budgets) == 1 {
			out.budget = out.budgets[0]
		}
	}
	if of.Traits.Controller == api.NoWorkload || of.Traits.Gone || out.filtered != 0 || out.refusal(g.Readiness) != 0 {
		return out
	}
	out.created = s.Replacement(&cluster.Victim{Group: int32(of.Group)})
	if out.created.Pod != nil {
		if out.left = doubt.Left(p.framework.Configured(), out.created.Pod.Template); out.left {
			return out
		}
		if unhealthy(g.Readiness) {
			for _, b := range out.budgets {
				p.heals[b] = true
			}
		}
		out.entry = len(p.pending)
		p.pending = append(p.pending, place.Pending{Pod: *out.created.Pod})
	}
	return out
}

// unhealthy reports whether the disruption controller does not count pods as healthy.
func unhealthy(r api.Readiness) bool { return r == api.NotReady || r == api.PhasePending }
