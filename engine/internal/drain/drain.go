// Package drain drains nodes: it cordons them, evicts their pods in rounds as PodDisruptionBudgets allow, and places what the
// pods' controllers create in their place.
//
// Pods of a DaemonSet and mirror pods stay. A round evicts, in the order of the nodes and of the pods of a node, each pod that
// its budget allows. Then the pods are placed that are left over from the rounds before, and those that come back. A pod that is
// placed is ready before the next round, and its budget allows one more eviction. The drain ends with the round after which no
// further pod can be evicted. Before, pods that have no node are attempted once more if those of that round terminated meanwhile.
//
// The rules of eviction are those of pkg/registry/core/pod/storage/eviction.go and of kubectl drain
// (k8s.io/kubectl/pkg/drain/filters.go), v1.37.
package drain

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/doubt"
	"github.com/stowage-scheduler/stowage/engine/internal/gang"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/place"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Options are the arguments of a drain.
type Options struct {
	// Nodes are the nodes to drain, ascending, and Targets those that pods may move to.
	Nodes      []uint32
	Targets    nodeset.Set
	Seed       uint64
	FewestPods bool
	// Scheduler places the pods of a round as kube-scheduler's queue does.
	Scheduler bool
	// Terminating lets evicted pods terminate while those of their round are placed. Otherwise they have left.
	Terminating bool
	// IgnoreBudgets evicts pods whatever their budgets allow.
	IgnoreBudgets bool
	Filters
	// Moves asks for Drain.Moves.
	Moves bool
	// Steps is the step budget of Largest.
	Steps int
	// Scan evaluates every node for every pod. It is the reference implementation.
	Scan bool
	// Workers is the number of goroutines of Each, at least 1.
	Workers int
}

// plan is what the drains of a call share. It does not change.
type plan struct {
	Options
	base      *cluster.Cluster
	framework *decide.Framework
	fates     map[fateKey]*fate // of the pods on Nodes
	inOrder   []*fate           // as the nodes have them first
	pending   []place.Pending
	groups    groups
	listed    int // budgets of all fates
	// heals are the budgets of pods that are not ready and come back, so that the budgets may allow more evictions than at first.
	heals map[int32]bool
}

// newPlan finds out what becomes of the pods of the nodes.
func newPlan(ctx context.Context, f *decide.Framework, c *cluster.Cluster, o *Options) (*plan, error) {
	s := cluster.NewState(ctx, c)
	p := &plan{Options: *o, base: c, framework: f, fates: make(map[fateKey]*fate), heals: make(map[int32]bool)}
	for i, node := range o.Nodes {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for group, traits := range c.TraitsOn(node) {
			key := fateKey{group, traits}
			if p.fates[key] == nil {
				if ctx.Err() != nil { // there may be many budgets
					return nil, ctx.Err()
				}
				p.fates[key] = p.fateOf(s, key)
				p.inOrder = append(p.inOrder, p.fates[key])
			}
		}
	}
	p.groups = findGroups(ctx, s, p.pending)
	return p, ctx.Err()
}

// usualPods is a number of pods for which place.New prepares a board.
const usualPods = 1 << 10

// drainer drains nodes in a state of its own.
type drainer struct {
	*plan
	ctx   context.Context
	state *cluster.State
	// queue has an entry for each one of plan.pending. boards reports by class whether a board can find its nodes.
	queue  *place.Queue
	cycle  *gang.Cycle // nil without groups
	boards map[*place.Class]bool
	used   []*place.Class // with a decision
	// budgets are those of the cluster as they are during the drain, and spent what changed them, in order.
	budgets []budget
	spent   []spending
	// origins are the pods that are or were placed, by the number of their entry in the state. The first ones are those of
	// plan.pending.
	origins []origin
	version int // number of changes to the state
}

// origin is what the state knows an entry of a queue by.
type origin struct {
	fate    *fate
	leaving bool   // the pods terminate
	placed  *batch // that a queue placed, nil for other pods
}

func (p *plan) newDrainer(ctx context.Context) (*drainer, error) {
	d := &drainer{plan: p, ctx: ctx, state: cluster.NewState(ctx, p.base), boards: make(map[*place.Class]bool)}
	budgets := p.base.Budgets()
	d.budgets = make([]budget, budgets.Len())
	for i := range d.budgets {
		b := budgets.At(int32(i))
		d.budgets[i] = budget{b, b.Evictions(), b.Missing}
	}
	d.origins = make([]origin, len(p.pending))
	for _, f := range p.inOrder {
		if f.entry >= 0 {
			d.origins[f.entry].fate = f
		}
	}
	var err error
	if !p.Scheduler {
		d.queue, err = place.New(ctx, p.framework, d.state, p.Targets, p.pending, place.Options{
			Seed: p.Seed, FewestPods: p.FewestPods, Scan: p.Scan,
		})
		if err != nil {
			return nil, err
		}
		for _, c := range d.queue.Classes {
			d.boards[c] = !c.Scan && !d.state.AnyNominated()
			c.Decision = nil
		}
		if len(p.groups.list) > 0 {
			d.cycle = gang.NewCycle(d.queue, p.framework.Configured(), p.groups.list)
			d.cycle.Evicts = false
		}
	}
	return d, ctx.Err()
}

// point is what a drain can be undone to.
type point struct {
	mark    cluster.Mark
	cluster *cluster.Cluster
	cleared cluster.Cleared
	spent   int
	origins int
}

func (d *drainer) point() point {
	p := point{mark: d.state.Mark(), cluster: d.state.Cluster, spent: len(d.spent), origins: len(d.origins)}
	if d.Scheduler {
		p.cleared = d.state.Cleared()
	}
	return p
}

// undo undoes everything after a point.
func (d *drainer) undo(to point) {
	if d.queue != nil {
		d.queue.Undo(to.mark)
	} else {
		d.state.Undo(to.mark)
		d.state.Restore(to.cleared)
	}
	d.state.Uncordon(to.cluster)
	d.forgetDecisions()
	for i := len(d.spent) - 1; i >= to.spent; i-- {
		s := d.spent[i]
		d.budgets[s.budget].left -= s.left
		d.budgets[s.budget].missing -= s.missing
	}
	d.spent, d.origins = d.spent[:to.spent], d.origins[:to.origins]
	d.version++
}

// forgetDecisions makes the classes evaluate the nodes' taints again.
func (d *drainer) forgetDecisions() {
	for _, c := range d.used {
		c.Decision = nil
	}
	d.used = d.used[:0]
}

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
	placed       []uint32 // nodes of those that it placed
	// preempted reports whether the pods come again after a preemption, which used the budgets owed up. Those of undecided pods met the
	// bound of a chain.
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
	// victims are the fates of pods that were preempted, returned those that came again, gone those of which that is not known.
	victims  map[fateKey]*fate
	returned []*unit
	gone     []verdict.PodReference
	moves    []int // entries of the queue by index in out.Moves
	// regained are what budgets regain once the pods that were placed in the current round are ready.
	regained []regained
}

// drain drains nodes, ascending, together. What it does to the state stays.
func (d *drainer) drain(nodes []uint32, probe bool) (*verdict.Drain, error) {
	d.state.Cordon(nodes)
	d.forgetDecisions()
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

// occupants returns the pods of a node in the order in which they are evicted. Those that came in earlier drains are last, by the
// round in which they were placed and then as they were evicted. In a round, a queue of its own has another order of placing.
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
	return d.fates[fateKey{o.Group, d.base.Traits(node, o)}]
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

// removed tells those who remember nodes that pods left some.
func (r *run) removed() {
	r.version++
	if r.queue != nil {
		r.queue.Evicted()
	}
}

// hopeless reports whether the drain cannot end well, if that is all that is asked for.
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

// next returns the pods of the next round: those of budgets that allow evictions again.
func (r *run) next() (now []batch) {
	var budgets []int32
	for _, b := range r.regained {
		if r.regain(b) { // pods that are not ready need not wait for those before them
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

// evict evicts pods, and adds what comes back to those that are pending. It returns the pods that are terminating.
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

// describe describes pods of a node, those that the request placed by their template.
func (d *drainer) describe(node uint32, o *cluster.Occupant) verdict.PodReference {
	p := d.state.PodReference(node, o)
	if o.Queue >= 0 {
		p.Queue, p.Template = -1, d.origins[o.Queue].fate.created.Pod.TemplateIndex
	}
	return p
}

// boardFrom is the number of pods of a class in a round from which on a board finds their nodes. BenchmarkDrain, where a class has
// six pods together, takes half the time that it takes with 16.
const boardFrom = 4

// place places the pending pods one by one.
func (r *run) place() error {
	pods := make(map[*place.Class]int, len(r.pending))
	for i := range r.pending {
		b := &r.pending[i]
		pods[r.queue.Classes[b.fate.entry]] += b.count
	}
	for c, count := range pods {
		if r.boards[c] {
			c.Scan = count < boardFrom
		}
	}
	failed, attempted := make(map[*place.Class]failure), make(map[int]bool)
	for i := range r.pending {
		if i%256 == 255 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		b := &r.pending[i]
		var err error
		if group := r.groups.of(b); group < 0 {
			err = r.placeAlone(b, failed)
		} else if !attempted[group] {
			attempted[group] = true
			err = r.placeGroup(group, r.pending[i:])
		}
		if err != nil {
			return err
		}
		if b.count > 0 && r.probe && (r.last || !r.Terminating) && r.noMore() {
			r.lost++
			break
		}
	}
	for i := range r.pending { // in the order of evictions, in which groups were not placed
		b := &r.pending[i]
		r.moved(b, b.fate.entry, b.placed)
		b.placed = nil
	}
	r.pending = slices.DeleteFunc(r.pending, func(b batch) bool { return b.count == 0 })
	return nil
}

// failure is why a class has no node, as of a version.
type failure struct {
	version int
	message string
}

// placeAlone places pods that are in no group.
func (r *run) placeAlone(b *batch, failed map[*place.Class]failure) error {
	class := r.queue.Classes[b.fate.entry]
	if why, known := failed[class]; known && why.version == r.version {
		b.message = why.message
		return nil
	}
	if class.Decision == nil {
		r.used = append(r.used, class)
	}
	var result verdict.Placement
	if err := r.queue.Place(r.ctx, b.fate.entry, b.count, &result, nil); err != nil {
		return err
	}
	r.version += len(result.Nodes)
	b.placed = result.Nodes
	if b.count = result.Unplaced; b.count > 0 {
		b.message = result.Message
		failed[class] = failure{r.version, b.message}
	}
	return nil
}

// noMore reports whether this is the last round, so that pods without a node stay without one.
func (r *run) noMore() bool {
	for _, waiting := range r.waiting {
		if len(waiting) > 0 {
			return false
		}
	}
	return true
}

// moved records that pods of a batch were placed. entry is the number that the state knows them by.
func (r *run) moved(b *batch, entry int, nodes []uint32) {
	if len(nodes) == 0 {
		return
	}
	r.out.Placed += len(nodes)
	r.becomeReady(b, entry, len(nodes))
	if r.Moves && !r.probe {
		r.out.Moves = append(r.out.Moves, verdict.PodMove{Pod: r.reference(b.unit, len(nodes)), Nodes: nodes, Round: b.round})
		r.moves = append(r.moves, entry)
	}
}

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

// Together drains all nodes at once.
func Together(ctx context.Context, f *decide.Framework, c *cluster.Cluster, o *Options) (*verdict.Drain, error) {
	p, err := newPlan(ctx, f, c, o)
	if err != nil {
		return nil, err
	}
	d, err := p.newDrainer(ctx)
	if err != nil {
		return nil, err
	}
	return d.drain(o.Nodes, false)
}
