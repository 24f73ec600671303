package place

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/board"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Append adds an entry to a queue that has no trials under way, and returns its index. The queue must keep all labels. Entries with pods
// of one template and equal labels are of one class.
func (q *Queue) Append(p Pending) int {
	if q.appended == nil { // the caller's
		q.appended = make(map[classKey]*Class)
		q.Pending, q.Classes, q.Options.Preempt = slices.Clone(q.Pending), slices.Clone(q.Classes), slices.Clone(q.Options.Preempt)
	}
	key := classKey{template: p.Pod.Template}
	_, key.labels = q.readable(p.Pod.Labels, nil)
	if q.State.ByName(&p.Pod) {
		key.name = p.Pod.Name
	}
	class := q.appended[key]
	if class == nil {
		class = &Class{Pod: q.State.Compile(&p.Pod)}
		class.Scan = q.Options.Scan || q.State.AnyNominated() || !board.Fits(q.Framework.Scorers, q.Framework.Weights()) ||
			q.Framework.PreScoreFailure(class.Pod.Spec()) != nil || q.State.Binds(class.Pod.Spec())
		q.State.Expect(class.Pod)
		q.appended[key] = class
	}
	class.pods += p.Count
	q.Pending, q.Classes, q.Placements = append(q.Pending, p), append(q.Classes, class), append(q.Placements, verdict.Placement{})
	if q.Options.Preempt != nil {
		q.Options.Preempt = append(q.Options.Preempt, true)
	}
	q.within, q.restarted = nil, nil
	return len(q.Pending) - 1
}
