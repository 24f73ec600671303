package drain

import (
	"math"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
)

// budget is a PodDisruptionBudget during a drain.
type budget struct {
	*cluster.Budget
	// left is how many evictions it still allows, and missing how many pods fewer are healthy than are to be.
	left, missing int32
}

// spending is a change to a budget.
type spending struct{ budget, left, missing int32 }

// spend changes what is left of a budget, and how many healthy pods are missing.
func (d *drainer) spend(budget, left, missing int32) {
	d.budgets[budget].left += left
	d.budgets[budget].missing += missing
	d.spent = append(d.spent, spending{budget, left, missing})
}

// spends reports whether the eviction of a pod uses up its budget. The eviction of an unready pod does not if the budget always
// allows it, or if as many other pods are healthy as are to be (pkg/registry/core/pod/storage/eviction.go Create, v1.37).
func (d *drainer) spends(u *unit) bool {
	switch {
	case u.fate.budget < 0 || u.readiness == api.PhasePending:
		return false
	case u.readiness != api.NotReady:
		return true
	}
	b := &d.budgets[u.fate.budget]
	return !b.AlwaysAllow && (b.Desired <= 0 || b.missing > 0)
}

// allowed returns how many pods of a unit may be evicted.
func (d *drainer) allowed(u *unit) int {
	if !d.spends(u) {
		return math.MaxInt
	}
	return int(d.budgets[u.fate.budget].left)
}

// regained is what a budget regains when a pod becomes ready. healed reports whether the pod that it replaces was not healthy and did
// not use the budget up, so that there is one more healthy pod than before.
type regained struct {
	budget int32
	healed bool
	entry  int // of the queue
}

// becomeReady records that replacements for pods of a batch were placed, by an entry of the queue.
func (r *run) becomeReady(b *batch, entry, count int) {
	of, healed := b.fate.budgets, !b.spent
	switch {
	case b.preempted:
		of, healed = b.owed, false
	case b.spent:
		of = of[:1]
	case !unhealthy(b.readiness) || r.IgnoreBudgets:
		return
	}
	for range count {
		for _, budget := range of {
			r.regained = append(r.regained, regained{budget, healed, entry})
		}
	}
}

// regain lets a budget regain what the disruption controller computes once a pod is ready (pkg/controller/disruption/disruption.go
// updatePdbStatus, v1.37). A budget whose status does not specify the desired number of healthy pods gains nothing from another
// healthy pod. regain reports whether the number of healthy pods has just reached the desired number.
func (r *run) regain(g regained) (complete bool) {
	b := &r.budgets[g.budget]
	switch {
	case b.Stuck() || g.healed && b.Desired <= 0:
	case g.healed && b.missing > 0:
		r.spend(g.budget, 0, -1)
		return b.missing == 0
	default:
		r.spend(g.budget, 1, 0)
	}
	return false
}
