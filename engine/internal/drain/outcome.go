package drain

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// finish lists the pods that are left, and sets the status.
func (r *run) finish() {
	out := r.out
	for i := range r.pending {
		b := &r.pending[i]
		out.Unplaced = append(out.Unplaced, verdict.UnplacedPod{Pod: r.reference(b.unit, b.count), Message: b.message})
	}
	for _, u := range r.units {
		if u.Count == 0 {
			continue
		}
		blocked := verdict.BlockedPod{Pod: r.reference(u, u.Count), Reason: u.fate.refusal(u.readiness)}
		if blocked.Reason == 0 {
			blocked.Reason = verdict.BlockedByBudget
			if r.budgets[u.fate.budget].Outdated() {
				blocked.Reason = verdict.BlockedByOutdatedBudget
			}
		}
		if u.fate.filtered == 0 {
			blocked.Budgets = u.fate.names
			out.Truncated = out.Truncated || u.fate.cut
		}
		out.Blocked = append(out.Blocked, blocked)
	}
	if !r.probe {
		out.Doubts = r.doubts()
	}
	switch {
	case len(out.Blocked) > 0:
		out.Status = verdict.DrainBlocked
	case len(out.Unplaced)+r.lost > 0:
		out.Status = verdict.DrainUnplaced
	default:
		out.Status = verdict.Drained
	}
}

// doubts returns the doubts about the evicted pods that their controllers create again.
func (r *run) doubts() []verdict.Doubt {
	ledger := doubt.NewLedger(r.framework.Configured())
	ledger.Decided = func(group string) bool { _, known := r.base.PodGroup(group); return known }
	ledger.Undecided = r.state.Undecided()
	for _, u := range r.units {
		if n := u.evicted + u.Count; n > 0 && u.readiness == api.ReadinessUnknown && !r.IgnoreBudgets && len(u.fate.budgets) > 0 && u.fate.filtered == 0 {
			ledger.Note(verdict.Doubt{Kind: verdict.AssumedReady, Pod: r.reference(u, n)})
		}
		if u.evicted == 0 || u.fate.created.Pod == nil {
			continue
		}
		again := *u.fate.created.Pod
		again.Unread = r.state.Unread(u.node, &u.Occupant)
		ledger.Pod(&again, r.reference(u, u.evicted))
	}
	r.returnedDoubts(ledger)
	ledger.Preempted(r.base.Templates(), r.gone)
	return ledger.Doubts()
}
