package drain

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// unit is equal pods of a node that is drained.
type unit struct {
	cluster.Occupant // as many as are still there
	node             uint32
	fate             *fate
	readiness        api.Readiness
	at               int // position among the units
	evicted          int
}

// batch is pods of a unit that are evicted in one round.
type batch struct {
	*unit
	count, round int
	spent        bool     // whether the evictions used up the budget
	message      string   // of the last attempt to place them
	placed       []uint32 // nodes of the pods that the attempts placed
	// preempted is set if the pods come back after a preemption, which used up the budgets in owed. undecided is set if the pods met
	// the bound of a chain.
	preempted, undecided bool
	owed                 []int32
}

// run is one drain.
type run struct {
	*drainer
	out *verdict.Drain
	// probe ends the drain as soon as it cannot end with the status Drained, and lists nothing.
	probe bool

	units   []*unit
	waiting map[int32][]*unit // for a budget that allows no more
	pending []batch           // without a node
	last    bool              // the pods that terminate have left
	refused int               // pods that may not be evicted, and stay
	lost    int               // of a probe: pods that will have no node
	// began and roundBegan are the number of origins when the drain and its current round began.
	began, roundBegan int
	// victims are the fates of preempted pods, returned the preempted pods that came back, gone the preempted pods whose return is
	// unknown.
	victims  map[cluster.PodKind]*fate
	returned []*unit
	gone     []verdict.PodReference
	moves    []int // entries of the queue by index in out.Moves
	// regained are what budgets regain once the pods that were placed in the current round are ready.
	regained []regained
}

// drain drains the nodes together; they are ascending. Its changes to the state stay.
func (d *drainer) drain(nodes []uint32, probe bool) (*verdict.Drain, error) {
	d.state.Cordon(nodes)
	d.state.RenewSteps()
	d.forgetDecisions()
	if d.queue != nil {
		d.queue.Silent = probe
	}
	r := &run{drainer: d, probe: probe, out: &verdict.Drain{Nodes: nodes}, waiting: make(map[int32][]*unit), began: len(d.origins)}
	for i, node := range nodes {
		if i%64 == 0 && d.ctx.Err() != nil {
			return nil, d.ctx.Err()
		}
		for _, o := range d.occupants(node) {
			u := &unit{Occupant: o, node: node, fate: d.fateOn(node, &o), readiness: api.Ready, at: len(r.units)}
			if o.Queue < 0 { // a pod that was placed is ready
				u.readiness = d.state.Group(o.Group).Readiness
			}
			r.units = append(r.units, u)
		}
	}
	err := r.rounds()
	if err == nil {
		err = d.ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	r.finish()
	return r.out, nil
}

// occupants returns the pods of a node in the order of eviction. Pods that came in earlier drains are last, by the round of their
// placement. Within a round they are ordered by their eviction, because a queue of its own may place them in another order.
func (d *drainer) occupants(node uint32) []cluster.Occupant {
	pods := d.state.Occupants(node)
	if d.Scheduler { // each round has entries of its own, in the order of evictions
		slices.SortStableFunc(pods, func(a, b cluster.Occupant) int { return cmp.Compare(a.Queue, b.Queue) })
	}
	return pods
}

// fateOn returns the fate of pods of a node.
func (d *drainer) fateOn(node uint32, o *cluster.Occupant) *fate {
	if o.Queue >= 0 {
		return d.origins[o.Queue].fate
	}
	return d.fates[cluster.PodKind{Group: o.Group, Traits: d.base.Traits(node, o)}]
}

// rounds evicts and places pods until no more pods can be evicted.
func (r *run) rounds() error {
	now := r.first()
	for len(now) > 0 && !r.hopeless() {
		left, err := r.evict(now)
		if err != nil {
			return err
		}
		if r.hopeless() {
			return nil
		}
		if err := r.attempt(); err != nil {
			return err
		}
		if r.state.Leave(left); r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		r.out.Rounds++
		if now = r.next(); len(now) == 0 && len(left) > 0 && len(r.pending) > 0 && !r.hopeless() {
			r.removed()
			r.last = true
			if err := r.attempt(); err != nil {
				return err
			}
			r.last = false
			now = r.next()
		}
	}
	return r.ctx.Err()
}

// attempt attempts to place the pending pods.
func (r *run) attempt() error {
	r.roundBegan = len(r.origins)
	if r.Scheduler {
		return r.schedule()
	}
	return r.place()
}

// removed invalidates what depends on the pods of nodes, after pods left.
func (r *run) removed() {
	r.version++
	if r.queue != nil {
		r.queue.Evicted()
	}
}

// hopeless reports whether a probe cannot end with the status Drained any more.
func (r *run) hopeless() bool {
	return r.probe && (len(r.out.Unplaced)+r.refused+r.lost > 0 || r.ctx.Err() != nil)
}

// first returns the pods of the first round.
func (r *run) first() (now []batch) {
	for _, u := range r.units {
		switch f := u.fate; {
		case f.stays:
			r.out.Staying += u.Count
			u.Count = 0
		case f.refusal(u.readiness) != 0:
			if !r.Scheduler { // which may preempt them
				r.refused += u.Count
			}
		default:
			count := min(u.Count, r.allowed(u))
			if count > 0 {
				now = append(now, r.take(u, count))
			}
			if u.Count > 0 {
				r.waiting[f.budget] = append(r.waiting[f.budget], u)
			}
		}
	}
	return now
}

// next returns the pods of the next round: pods whose budgets allow evictions again.
func (r *run) next() (now []batch) {
	var budgets []int32
	for _, b := range r.regained {
		if r.regain(b) { // pods that are not ready need not wait for earlier pods
			r.waiting[b.budget] = slices.DeleteFunc(r.waiting[b.budget], func(u *unit) bool {
				if free := !r.spends(u); free && u.Count > 0 {
					now = append(now, r.take(u, u.Count))
				}
				return u.Count == 0
			})
		}
		budgets = append(budgets, b.budget)
	}
	slices.Sort(budgets)
	for _, b := range slices.Compact(budgets) {
		waiting := r.waiting[b]
		for len(waiting) > 0 && r.allowed(waiting[0]) > 0 {
			u := waiting[0]
			if count := min(u.Count, r.allowed(u)); count > 0 { // 0 if the pods were preempted
				now = append(now, r.take(u, count))
			}
			if u.Count == 0 {
				waiting = waiting[1:]
			}
		}
		r.waiting[b] = waiting
	}
	r.regained = r.regained[:0]
	slices.SortFunc(now, func(a, b batch) int { return cmp.Compare(a.at, b.at) })
	return now
}

// take lets pods of a unit be evicted in this round.
func (r *run) take(u *unit, count int) batch {
	spends := r.spends(u)
	if spends {
		r.spend(u.fate.budget, -int32(count), 0)
	}
	u.Count -= count
	return batch{unit: u, count: count, round: r.out.Rounds, spent: spends}
}

// evict evicts pods and adds their replacements to the pending pods. It returns the pods that are terminating.
func (r *run) evict(now []batch) (left []cluster.Terminating, err error) {
	for i := range now {
		if i%256 == 255 && r.ctx.Err() != nil {
			return nil, r.ctx.Err()
		}
		b := &now[i]
		o := b.Occupant
		o.Count = b.count
		r.out.Evicted += b.count
		if r.state.Group(o.Group).Terminating {
			r.out.Terminating += b.count
		}
		if r.Terminating {
			left = append(left, r.state.Terminate(b.node, &o, len(r.origins))...)
			r.origins = append(r.origins, origin{fate: b.fate, leaving: true})
		} else {
			r.state.Evict(b.node, &o)
		}
		switch {
		case b.fate.created.Unknown:
			r.out.Unplaced = append(r.out.Unplaced, verdict.UnplacedPod{Pod: r.reference(b.unit, b.count), Unknown: true})
		case b.fate.created.Pod != nil && !b.fate.left:
			r.pending = append(r.pending, *b)
		}
		b.evicted += b.count
	}
	r.removed()
	return left, nil
}

// reference describes pods of a unit.
func (r *run) reference(u *unit, count int) verdict.PodReference {
	o := u.Occupant
	o.Count = count
	return r.describe(u.node, &o)
}

// describe returns a reference to pods of a node; pods that the request placed are identified by their template.
func (d *drainer) describe(node uint32, o *cluster.Occupant) verdict.PodReference {
	p := d.state.PodReference(node, o)
	if o.Queue >= 0 {
		p.Queue, p.Template = -1, d.origins[o.Queue].fate.created.Pod.TemplateIndex
	}
	return p
}
