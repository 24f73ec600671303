package queue

import (
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/internal/preempt"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// failure is why an attempt found no node.
type failure struct {
	version    int // number of changes when it was found
	pods       int // how many pods or pods in a row have it
	round      int // queue.rounds when it was found
	nodes      int // in rejections; 0 if they are left out
	found      int // nodes and victims that preemption finds
	message    string
	rejections []verdict.Rejection
	failed     bool
	infeasible bool   // no node is feasible, so that it did not fail to be scored
	rejectors  uint64 // 0 for an error
	preemption *verdict.Preemption
	unlisted   bool               // preemption is cut
	victims    []preempt.VictimOn // that leave for the pod
}

// failure returns why no node is feasible for a pod of a class. Pods of a class share it until something changes.
func (q *queue) failure(c *place.Class) (*failure, error) {
	if known := q.known[c]; known != nil && known.version == len(q.changes) {
		return known, nil
	}
	outcome, err := q.Rejected(q.ctx, c)
	if err != nil {
		return nil, err
	}
	why := &failure{
		version: len(q.changes), message: outcome.Message,
		failed: c.Error(q.Candidates.Len()) != "", infeasible: outcome.Feasible.Empty(),
	}
	if !why.failed {
		for i := range outcome.Rejections {
			why.rejectors |= 1 << q.plugins[outcome.Rejections[i].Plugin]
		}
	}
	if why.infeasible {
		if why.preemption, why.victims, err = q.findVictims(c, outcome.Rejections); err != nil {
			return nil, err
		}
	}
	q.store(why, outcome.Rejections)
	if !nominated(c) {
		q.known[c] = why
	}
	return why, nil
}

func nominated(c *place.Class) bool { return c.Pod.Nomination != nil || c.Pod.NominatedNode != "" }

// memory is what the searches for victims found for a class, as of a number of changes.
type memory struct {
	preempt.Memory
	changes int
}

// maxMemory bounds the bytes of all memories together.
const maxMemory = 64 << 20

// findVictims is preempt.FindVictims for a class, with what earlier searches found.
func (q *queue) findVictims(c *place.Class, rejections []verdict.Rejection) (*verdict.Preemption, []preempt.VictimOn, error) {
	var o preempt.Options
	if o.Memory = q.memory(c); o.Memory != nil {
		q.memorized -= o.Memory.Bytes()
		defer func() {
			if q.memorized += o.Memory.Bytes(); q.memorized > maxMemory {
				q.memorized = 0
				clear(q.memories)
			}
		}()
	}
	return preempt.FindVictims(q.ctx, c.Decision, q.Candidates, rejections, o)
}

// memory returns the results of searches for victims of a class that are still valid; nil for a nominated pod, and for pods with claims,
// which other pods bind wherever they are placed.
func (q *queue) memory(c *place.Class) *preempt.Memory {
	if nominated(c) || q.State.Binds(c.Pod.Spec()) || q.Queue.Options.Scan || q.Queue.Options.Tuning.Forget {
		return nil
	}
	m := q.memories[c]
	if m == nil {
		m = &memory{}
		q.memories[c] = m
	}
	if since := q.changes[m.changes:]; len(since) < q.State.Len() {
		for _, node := range since {
			m.Forget(node)
		}
	} else {
		m.ForgetAll()
	}
	m.changes = len(q.changes)
	return &m.Memory
}

// maxStored bounds the nodes listed in the failures that pods keep during a round. It leaves room for failures that no answer
// reports: of pods that are not the first unplaced one of their entry, and of pods that are attempted again.
const maxStored = 4 * verdict.MaxListedNodes

// store lets a failure keep its lists if there is room.
func (q *queue) store(why *failure, rejections []verdict.Rejection) {
	why.round = q.rounds
	if nodes := q.Candidates.Len(); q.stored+nodes <= maxStored {
		why.rejections, why.nodes = rejections, nodes
		q.stored += nodes
	}
	p := why.preemption
	if p == nil {
		return
	}
	if why.found = p.Listed(); q.stored+why.found <= maxStored {
		q.stored += why.found
		return
	}
	why.unlisted = true
	why.preemption = &verdict.Preemption{Message: p.Message, Nominated: p.Nominated, ClearsNomination: p.ClearsNomination}
}

// have gives pods the failure of their last attempt.
func (q *queue) have(p *pods, why *failure) {
	why.pods++
	q.release(p)
	p.why = why
}

// release makes room when pods no longer have a failure, the last ones that did.
func (q *queue) release(p *pods) {
	why := p.why
	if why == nil {
		return
	}
	p.why = nil
	if why.pods--; why.pods > 0 || why.round != q.rounds {
		return
	}
	if q.known[p.class] == why {
		delete(q.known, p.class)
	}
	if q.stored -= why.nodes; !why.unlisted {
		q.stored -= why.found
	}
}

// listed counts what an answer lists: nodes in rejections, and nodes and victims in preemptions.
type listed struct{ nodes, found int }

// finish fills the placements. A queue that did not end has unattempted pods, and searches for no explanation. Once a search
// fails there are no others, but all counts and texts that the attempts left are there.
func (q *queue) finish(ended bool) error {
	for _, p := range q.placed {
		if !p.evicted {
			q.Placements[p.entry].Nodes = append(q.Placements[p.entry].Nodes, p.node)
		}
	}
	var all listed
	for i := range q.Placements {
		e, result := &q.entries[i], &q.Placements[i]
		result.Evicted, result.Attempts = e.evicted, e.attempts
		result.Unplaced = q.Pending[i].Count - len(result.Nodes) - e.evicted
		result.Unattempted = result.Unplaced
		if result.Unplaced == 0 || len(q.Classes) == 0 { // without classes the deadline came first
			continue
		}
		if g := q.groupOf(i); g != nil {
			q.explainMember(g, i, result, &all)
		} else if first, waiting := e.unplaced(); first != nil {
			result.Unattempted -= waiting
			q.explain(first.why, result, &all)
		} else if gated := q.gate(q.Classes[i]); gated != nil {
			result.Unattempted = 0
			q.explainGated(gated, result, &all)
		}
	}
	q.results(&all)
	if !ended || !q.Explain && !q.Changes {
		return nil
	}
	for i := range q.Placements {
		if err := q.search(i); err != nil {
			return err
		}
	}
	return nil
}

// unplaced returns the first pod that was attempted and has no node, nil for none, and the number of such pods.
func (e *entry) unplaced() (first *pods, waiting int) {
	for _, p := range e.failed {
		if waiting += p.count; p.count > 0 && (first == nil || p.ordinal < first.ordinal) {
			first = p
		}
	}
	return first, waiting
}

// explain reports why a pod has no node, according to its last attempt.
func (q *queue) explain(why *failure, result *verdict.Placement, all *listed) {
	result.Message, result.Failed = why.message, why.failed
	if all.nodes += q.Candidates.Len(); all.nodes <= verdict.MaxListedNodes {
		result.Rejections = why.rejections
	}
	if p := why.preemption; q.Preempt && p != nil {
		result.Message = p.Event(result.Message)
		if all.found += why.found; all.found <= verdict.MaxListedNodes && !why.unlisted {
			result.Preemption = p
		}
	}
}

// explainGated reports why a pod was never attempted (engine/internal/decide Decision.Filter).
func (q *queue) explainGated(gated *decide.PodRejection, result *verdict.Placement, all *listed) {
	result.Message = gated.Reason.Message
	nodes := q.Candidates.Len()
	if all.nodes += nodes; nodes > 0 && all.nodes <= verdict.MaxListedNodes {
		result.Rejections = []verdict.Rejection{gated.Of(q.Candidates)}
	}
}

// search adds what takes a search of its own for the first unplaced pod of an entry, as the nodes are at the end.
func (q *queue) search(entry int) (err error) {
	class, result := q.Classes[entry], &q.Placements[entry]
	if result.Unplaced == 0 {
		return nil
	}
	if err := q.ctx.Err(); err != nil {
		return err
	}
	first, _ := q.entries[entry].unplaced()
	rejected := first == nil || first.why.infeasible
	if g := q.groupOf(entry); g != nil {
		first, rejected = g.member(entry), g.last == nil || g.rejected(entry)
	}
	if first != nil && first.nominated != "" {
		class = first.nominee()
	}
	d := q.Decision(class)
	if q.Explain {
		if result.Explanation, err = d.Explain(q.ctx, q.Candidates); err != nil {
			return err
		}
	}
	if q.Changes && rejected {
		result.Changes, err = q.FindChanges(q.ctx, class)
	}
	return err
}
