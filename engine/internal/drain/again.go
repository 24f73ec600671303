package drain

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// maxChain is how often in a round the pods are attempted whose controllers create them again because a pod of that round preempted
// them. Priorities fall along a chain of preemptions, so that few clusters have longer ones.
const maxChain = 16

// schedule places the pending pods as kube-scheduler's queue does. Preempted pods that their controllers create again are pending
// then, and attempted with the others until no pod is preempted.
func (r *run) schedule() error {
	for chain := 0; len(r.pending) > 0; chain++ {
		again, err := r.attemptQueue()
		if err != nil {
			return err
		}
		if r.pending = append(r.pending, again...); len(again) == 0 || r.hopeless() {
			return nil
		}
		if chain == maxChain {
			for i := len(r.pending) - len(again); i < len(r.pending); i++ {
				r.pending[i].undecided = true
			}
			return nil
		}
	}
	return nil
}

// comesAgain returns pods that were preempted as the batch that their controller creates again; ok is false if nothing is known to.
// owed are the budgets that a preempted pod used up.
func (r *run) comesAgain(node uint32, o *cluster.Occupant, owed []int32) (b batch, ok bool) {
	u := &unit{Occupant: *o, node: node, readiness: api.Ready}
	u.Count = 0
	if n := len(r.returned); n > 0 && r.returned[n-1].node == node && r.returned[n-1].Same(o) {
		u = r.returned[n-1]
	}
	if o.Queue >= 0 {
		u.fate = r.origins[o.Queue].fate
	} else {
		u.readiness = r.state.Group(o.Group).Readiness
		u.fate = r.victimFate(cluster.PodKind{Group: o.Group, Traits: r.base.Traits(node, o)})
	}
	if c := u.fate.created; c.Pod == nil || c.Own || u.fate.left {
		return batch{}, false
	}
	if u.evicted == 0 {
		r.returned = append(r.returned, u)
	}
	u.evicted += o.Count
	round := r.out.Rounds
	if r.last { // the last round counts already
		round--
	}
	return batch{unit: u, count: o.Count, round: round, owed: owed, preempted: !unhealthy(u.readiness)}, true
}

// victimFate returns the fate of pods that are preempted, which no filter of kubectl and no budget protects.
func (r *run) victimFate(of cluster.PodKind) *fate {
	if f := r.victims[of]; f != nil {
		return f
	}
	f := &fate{of: of, budget: -1, entry: -1, budgets: r.base.Budgets().Evicting(r.state.Group(of.Group))}
	f.created = r.state.Replacement(&cluster.Victim{Group: int32(of.Group)})
	f.left = f.created.Pod != nil && doubt.Left(r.framework.Configured(), f.created.Pod.Template)
	if r.victims == nil {
		r.victims = make(map[cluster.PodKind]*fate)
	}
	r.victims[of] = f
	return f
}

// unready takes back that a pod of an entry, which was placed in this round, is ready in the next one.
func (r *run) unready(entry int) {
	var done []int32
	r.regained = slices.DeleteFunc(r.regained, func(g regained) bool {
		if g.entry != entry || slices.Contains(done, g.budget) {
			return false
		}
		done = append(done, g.budget)
		return true
	})
}

// returnedDoubts adds the doubts about preempted pods that came back, and about pods that the bound of a chain left undecided.
func (r *run) returnedDoubts(ledger *doubt.Ledger) {
	for _, u := range r.returned {
		again := *u.fate.created.Pod
		if u.Queue < 0 {
			again.Unread = r.state.Unread(u.node, &u.Occupant)
		}
		ledger.Pod(&again, r.reference(u, u.evicted))
	}
	for i := range r.pending {
		if b := &r.pending[i]; b.undecided {
			ledger.Note(verdict.Doubt{Kind: verdict.LimitMet, Pod: r.reference(b.unit, b.count)})
		}
	}
}
