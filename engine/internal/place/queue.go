// Package place places the pods of a queue one by one. It assumes each placed pod on its node before it places the next.
package place

import (
	"cmp"
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/board"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/tiebreak"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Pending is a queue entry: a number of identical pods in a row.
type Pending struct {
	Pod   api.Pod
	Count int
}

// Watcher receives placements when they are decided. An error from it ends the call.
type Watcher interface {
	// Evicted reports all evictions of a kube-scheduler queue, and the number of pods that were placed and evicted, before the
	// pods that are left.
	Evicted(evictions []verdict.Eviction, pods int) error
	// Placed reports the node of the next pod of an entry.
	Placed(entry int, node uint32) error
	// Entry reports that an entry is done.
	Entry(entry int, p *verdict.Placement) error
	// Group reports that a pod group is done, after its pods and entries.
	Group(group int, g *verdict.PodGroupPlacement) error
}

// Options are the arguments of placing a queue.
type Options struct {
	// Seed and FewestPods break ties between the best nodes (tiebreak.New).
	Seed       uint64
	FewestPods bool

	Explain bool
	Changes bool
	// Preempt reports by entry whether its first unplaced pod looks for victims; nil for none.
	Preempt []bool
	Watch   Watcher // may be nil
	// KeepLabels is set if other pods are placed in the same state later, by queues of their own: they may read labels that no rule
	// reads now.
	KeepLabels bool
	// Scan evaluates every node for every pod and disables equivalence classes. It is the reference implementation.
	Scan   bool
	Tuning Tuning
}

// Tuning selects how the best node, and the victims, are found. No answer depends on it.
type Tuning struct {
	Board          bool                          // use the board even where scanning costs less
	LowCardinality func(domains, nodes int) bool // as in board.New
	Bytes          int64                         // replaces maxBoardBytes unless 0
	Forget         bool                          // search for the victims of each pod, and rank the domains of each group, as if it were the first
}

// Queue is a queue that is being placed.
type Queue struct {
	State      *cluster.State
	Framework  *decide.Framework
	Candidates nodeset.Set
	Pending    []Pending
	Options    Options
	// Offset is the number by which the state knows the first entry.
	Offset int
	// Classes are the equivalence classes of the entries.
	Classes []*Class
	// Placements are the results by entry.
	Placements []verdict.Placement
	// Explainer finds changes for a pod without a feasible node.
	Explainer Explainer
	// Silent is set if unplaced pods are not explained.
	Silent bool

	order *tiebreak.Order
	board *board.Board
	pass
	kin
	numbers []int // by which the state knows the entries of a queue of Of; nil for others
	scratch *scratch
	commons map[commonKey]*Class // of pods without names; nil until needed
	// infeasible is the outcome of the last search for a node, if that filtered every node and none was feasible; otherwise nil.
	infeasible *decide.Outcome
}

// pass is what a queue counts while it is placed.
type pass struct {
	moves  int // number of changes to the assumed pods
	listed int // number of nodes listed in rejections
	// preempted is the number of nodes and victims listed in preemptions. No trial of a group changes it.
	preempted int
}

// kin are classes shared by a queue and the queues made from it.
type kin struct {
	within, restarted []*Class // of queues of Within, and of Restart
	// appended are the classes of the entries of Append; nil if there are none.
	appended map[classKey]*Class
}

// scratch is memory of scan, shared by a queue and the queues made from it. One queue uses it at a time.
type scratch struct {
	feasible []uint32
	totals   []int64
}

// Explainer finds changes that make a candidate feasible for a pod without feasible nodes.
type Explainer func(context.Context, *decide.Decision, nodeset.Set) ([]verdict.Change, error)

// New returns a queue with the equivalence classes of its pods. It assumes pods in the state. An error is the
// context's; the queue then has no classes.
func New(ctx context.Context, f *decide.Framework, s *cluster.State, candidates nodeset.Set, pending []Pending, o Options) (*Queue, error) {
	q := &Queue{
		State: s, Framework: f, Candidates: candidates, Pending: pending, Options: o,
		Placements: make([]verdict.Placement, len(pending)),
		order:      tiebreak.New(s.Names, o.Seed, o.FewestPods),
		scratch:    &scratch{},
	}
	var err error
	q.Classes, err = q.classes(ctx)
	s.OwnResources()
	return q, err
}

// number returns the number by which the state knows an entry.
func (q *Queue) number(entry int) int {
	if q.numbers != nil {
		return q.numbers[entry]
	}
	return q.Offset + entry
}

// List counts nodes and victims that a preemption lists, and reports whether the answer has room for them.
func (q *Queue) List(found int) bool {
	q.preempted += found
	return q.preempted <= verdict.MaxListedNodes
}

// Undo undoes what the state assumed after a mark.
func (q *Queue) Undo(to cluster.Mark) {
	q.State.Undo(to)
	q.moves++
}

// Place places a number of pods of an entry. It stops at the first pod without a feasible node: the others of the entry
// have none either.
func (q *Queue) Place(ctx context.Context, entry, count int, result *verdict.Placement, watch Watcher) error {
	c := q.Classes[entry]
	next := q.best
	if q.numbers != nil { // of a queue whose pods are nominated, and evicted
		next = q.Next
	}
	for ; count > 0; count-- {
		node, found, err := next(ctx, c, result)
		if err != nil {
			return err
		}
		if !found {
			q.Decision(c)
			rejected := verdict.Placement{
				Nodes: result.Nodes, Scanned: result.Scanned, Unplaced: count, Failed: c.Error(q.Candidates.Len()) != "",
			}
			if err := q.explain(ctx, c, entry, &rejected); err != nil {
				return err
			}
			*result = rejected
			break
		}
		q.Assume(entry, node)
		result.Nodes = append(result.Nodes, node)
		if watch != nil {
			if err := watch.Placed(entry, node); err != nil {
				return err
			}
		}
	}
	if watch != nil {
		return watch.Entry(entry, result)
	}
	return nil
}

// Assume assumes a pod of an entry on a node.
func (q *Queue) Assume(entry int, node uint32) {
	pod := q.Classes[entry].Pod
	if q.State.Shares(pod, node) {
		q.State.Revise() // a board relies on equal pods of a group counting equally
	}
	q.State.Assume(pod, q.Pending[entry].Pod.Name, node, q.number(entry))
	q.moves++
}

// best returns the best node for the next pod of a class, and whether one is feasible.
func (q *Queue) best(ctx context.Context, c *Class, result *verdict.Placement) (uint32, bool, error) {
	q.infeasible = nil
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	if c.Scan {
		if of := q.nameless(c); of != nil {
			if node, found, err := q.best(ctx, of, &verdict.Placement{}); !of.Scan {
				return node, found, err
			}
		}
		result.Scanned++
		return q.scan(ctx, c)
	}
	switch {
	case !q.follows(c):
		q.compile(c)
	case c.onBoard != nil && c.yields && q.unblocks(c):
		if c.changed++; c.changed*16 > c.pods+64 && !q.Options.Tuning.Board { // the board costs more than scanning
			c.Scan = true
			return q.best(ctx, c, result)
		}
		q.compile(c)
	}
	if c.onBoard == nil {
		return 0, false, nil
	}
	node, found := c.onBoard.Best()
	if !c.onBoard.Scored() {
		c.Scan = true
		return q.best(ctx, c, result)
	}
	return node, found, ctx.Err()
}

// follows reports whether a class is on the board and has counted all that changed.
func (q *Queue) follows(c *Class) bool {
	if c.board == nil || c.board != q.board || !c.steady && c.revision != q.State.Revision() {
		return false
	}
	return c.onBoard == nil || c.onBoard.CatchUp()
}

// compile puts a class on the board; its onBoard is nil if the pods are rejected as a whole.
func (q *Queue) compile(c *Class) {
	if q.board == nil || q.board.Bytes() > cmp.Or(q.Options.Tuning.Bytes, maxBoardBytes) {
		q.board = board.New(q.State, q.order, q.Options.Tuning.LowCardinality)
	}
	d := q.Decision(c)
	c.board, c.onBoard, c.steady, c.revision = q.board, nil, q.Steady(c), q.State.Revision()
	var cordons board.Cordons
	cordons.Close, cordons.Count = d.Cordons()
	if cordons.Count || !q.State.AnyCordoned() {
		q.compileFor(c, d, cordons)
		return
	}
	q.State.Uncordoned(func() { q.compileFor(c, decide.New(q.Framework, q.State, c.Pod), cordons) })
}

func (q *Queue) compileFor(c *Class, d *decide.Decision, cordons board.Cordons) {
	rules := d.Rules()
	nodes := q.Static(d, rules)
	if nodes == nil {
		return
	}
	if c.yields {
		rules.Count()
		c.rules, c.open = rules, nodes.Clone()
		c.blocked = d.Blocked(rules, nodes, nodeset.New(q.State.Len()))
		nodes.AndNot(c.blocked)
	}
	c.onBoard = q.board.Class(d.Cycle, rules, nodes, cordons)
}

// Steady reports whether all that pods of a class read is counted by the groups of other pods.
func (q *Queue) Steady(c *Class) bool {
	spec := c.Pod.Spec()
	return !c.yields && len(c.Pod.HostPorts) == 0 && len(c.Pod.Shape.Volumes) == 0 && len(spec.Volumes) == 0 && !q.State.Binds(spec)
}

// Next is best for a queue whose pods are nominated, and evicted, while it is placed. Scanned of result counts on.
func (q *Queue) Next(ctx context.Context, c *Class, result *verdict.Placement) (uint32, bool, error) {
	q.Decision(c)
	c.failure = nil
	if n, nominated := c.Decision.NominatedNode(q.Candidates); nominated { // the only one to evaluate, if it is feasible
		only := nodeset.New(q.State.Len())
		only.Add(n)
		outcome, err := c.Decision.Filter(ctx, only)
		if err != nil || !outcome.Feasible.Empty() {
			return n, err == nil, err
		}
	}
	if c.Scan || !q.State.AnyNominations() {
		return q.best(ctx, c, result)
	}
	on := plugin.Both(c.Decision.YieldedOn(), q.Candidates)
	if on.Len()*yieldedShare > q.State.Len() && !q.Options.Tuning.Board {
		result.Scanned++
		return q.scan(ctx, c)
	}
	if !c.yields && !on.Empty() {
		c.yields, c.board, c.onBoard = true, nil, nil // it was on the board with all nodes
	}
	return q.best(ctx, c, result)
}

// Evicted notifies the queue that pods were evicted.
func (q *Queue) Evicted() { q.moves++ }

// Renominated notifies the queue that nominations began or ended.
func (q *Queue) Renominated() { q.moves++ }

// unblocks reports whether the nodes changed that are infeasible for a class because of nominated pods.
func (q *Queue) unblocks(c *Class) bool {
	return !slices.Equal(c.blocked, q.Decision(c).Blocked(c.rules, c.open, c.blocked))
}

// Decision returns the decision for a class.
func (q *Queue) Decision(c *Class) *decide.Decision {
	switch {
	case c.Decision != nil:
	case c.Like != nil:
		c.Decision = q.Decision(c.Like).Renominated(c.Pod)
	default:
		c.Decision = decide.New(q.Framework, q.State, c.Pod)
	}
	return c.Decision
}

// Static returns the candidates that pass PreFilter and the static rules; nil if the pod is rejected as a whole.
func (q *Queue) Static(d *decide.Decision, rules *rule.Set) nodeset.Set {
	pre := d.PreFilter()
	if d.Gated() != nil || pre.Rejected != nil || q.Candidates.Empty() {
		return nil
	}
	nodes := plugin.Both(q.Candidates, pre.Nodes).Clone()
	for i := range rules.Static {
		nodes.AndNot(rules.Static[i].Rejected)
	}
	return nodes
}

// maxBoardBytes is the size at which a new board replaces the current one before another class is added.
const maxBoardBytes = 1 << 29

// scan evaluates every node for a pod of a class.
func (q *Queue) scan(ctx context.Context, c *Class) (uint32, bool, error) {
	c.failure, q.infeasible = nil, nil
	outcome, err := q.Decision(c).Filter(ctx, q.Candidates)
	if err != nil {
		return 0, false, err
	}
	if outcome.Feasible.Empty() {
		c.failure, q.infeasible = outcome.Failure, outcome
		return 0, false, nil
	}
	feasible := outcome.Feasible.AppendIndexes(q.scratch.feasible[:0])
	q.scratch.feasible = feasible
	if len(feasible) == 1 {
		return feasible[0], true, nil
	}
	best, err := c.Decision.Best(ctx, feasible, &q.scratch.totals)
	if err != nil {
		return 0, false, err
	}
	if c.failure = c.Decision.Failure; c.failure != nil {
		return 0, false, nil
	}
	return q.order.Best(best, q.State.Resources.PodsOn), true, nil
}

// Order returns the order of the nodes in which ties are broken.
func (q *Queue) Order() *tiebreak.Order { return q.order }
