package place

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// fork returns a queue with the same entries in the same state, without classes. Fields that are not set here start empty in every
// queue made from another one.
func (q *Queue) fork() *Queue {
	return &Queue{
		State: q.State, Framework: q.Framework, Candidates: q.Candidates, Pending: q.Pending, Options: q.Options, Offset: q.Offset,
		Explainer: q.Explainer, order: q.order, pass: q.pass, numbers: q.numbers, scratch: q.scratch,
	}
}

// Within returns a queue for the same entries on some of the nodes. It explains unplaced pods only if explain is set.
// The caller sets the classes of the entries that it places; all queues of Within share that slice.
func (q *Queue) Within(nodes nodeset.Set, explain bool) *Queue {
	if q.within == nil {
		q.within = make([]*Class, len(q.Pending))
	}
	within := q.fork()
	within.Candidates, within.Classes, within.Placements = nodes, q.within, q.Placements
	within.kin, within.Silent = q.kin, !explain
	return within
}

// UndoOf undoes what a queue of Within assumed after a mark.
func (q *Queue) UndoOf(within *Queue, to cluster.Mark) {
	within.Undo(to)
	q.moves, q.listed = within.moves, within.listed
}

// Restart returns a queue for some of the entries that knows nothing of the state, so that pods may have been evicted. It finds the
// texts of unplaced pods, but does not explain more. All queues of Restart share their classes.
func (q *Queue) Restart(entries []int) *Queue {
	if q.restarted == nil {
		q.restarted = make([]*Class, len(q.Pending))
	}
	restart := q.fork()
	restart.Classes, restart.Placements, restart.appended = q.restarted, q.Placements, q.appended
	restart.Options.Explain, restart.Options.Changes, restart.Options.Preempt, restart.Options.Watch = false, false, nil, nil
	copies := make(map[*Class]*Class, len(entries))
	for _, e := range entries {
		c := copies[q.Classes[e]]
		if c == nil {
			c = q.Classes[e].Copy(false)
			copies[q.Classes[e]] = c
		}
		restart.Classes[e] = c
	}
	return restart
}

// Run is pods of an entry in a row.
type Run struct {
	Entry, Count int
	Class        *Class
}

// Subset returns a queue of pods of this one, for one trial with all of them. It explains unplaced pods, and lists as if nothing had
// been listed before. Rejoin ends it.
func (q *Queue) Subset(runs []Run) *Queue {
	subset := q.fork()
	subset.board, subset.pass = q.board, pass{moves: q.moves}
	subset.Pending, subset.Classes, subset.numbers = make([]Pending, len(runs)), make([]*Class, len(runs)), make([]int, len(runs))
	subset.Options.Explain, subset.Options.Changes, subset.Options.Watch, subset.Options.Preempt = false, false, nil, make([]bool, len(runs))
	for i, r := range runs {
		subset.Pending[i], subset.Classes[i], subset.numbers[i] = Pending{Pod: q.Pending[r.Entry].Pod, Count: r.Count}, r.Class, q.number(r.Entry)
		subset.Pending[i].Pod.NominatedNode = r.Class.Pod.NominatedNode
	}
	return subset
}

// Rejoin takes over what a subset knows of the state.
func (q *Queue) Rejoin(subset *Queue) { q.board, q.moves = subset.board, subset.moves }

// Listed returns the number of nodes and victims that the results of a subset list.
func (q *Queue) Listed() int {
	return min(q.listed, verdict.MaxListedNodes) + min(q.preempted, verdict.MaxListedNodes)
}
