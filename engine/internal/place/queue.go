// Package place places the pods of a queue one by one. Each placed pod counts for the next.
package place

import (
	"cmp"
	"context"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/board"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Pending is a queue entry: a number of equal pods in a row.
type Pending struct {
	Pod   api.Pod
	Count int
}

// Watcher is told where the pods of a queue go while they are placed. Its error ends the call.
type Watcher interface {
	// Placed tells that the next pod of an entry goes to a node.
	Placed(entry int, node uint32) error
	// Entry tells that an entry is done.
	Entry(entry int, p *verdict.Placement) error
	// Group tells that a group is done, after its pods and entries.
	Group(group int, g *verdict.Group) error
}

// Options say how a queue is placed.
type Options struct {
	// Seed chooses among the best nodes.
	Seed    uint64
	Explain bool
	Changes bool
	Watch   Watcher // may be nil
	// Scan evaluates every node for every pod and disables equivalence classes. It is the reference implementation.
	Scan   bool
	Tuning Tuning
}

// Tuning says how nodes are found. No answer depends on it.
type Tuning struct {
	Board bool                          // use the board even where scanning costs less
	Few   func(domains, nodes int) bool // as in board.New
	Bytes int64                         // in place of maxBoardBytes, unless 0
}

// Queue is pods that are being placed.
type Queue struct {
	State      *cluster.State
	Framework  *decide.Framework
	Candidates nodeset.Set
	Pending    []Pending
	Options    Options
	// Classes are the equivalence classes of the entries.
	Classes []*Class
	// Placements are the results by entry.
	Placements []verdict.Placement
	// Explainer finds changes for a pod that no candidate takes.
	Explainer Explainer

	order   []uint64 // as TieBreak
	board   *board.Board
	alike   []*decide.Decision // of pods with different static rules, the first maxAlike
	passing []nodeset.Set      // what static returns for these
	moves   int                // pods assumed and forgotten so far
	listed  int                // nodes in rejections so far
	within  []*Class           // of queues on some of the nodes
	silent  bool               // whether to leave out why a pod is not placed
}

// Explainer finds changes that would let a candidate take a pod that none takes.
type Explainer func(context.Context, *decide.Decision, nodeset.Set) ([]verdict.Change, error)

// New returns a queue with the equivalence classes of its pods. The state is the queue's from now on. With an error, which is
// the context's, the queue has no classes.
func New(ctx context.Context, f *decide.Framework, s *cluster.State, candidates nodeset.Set, pending []Pending, o Options) (*Queue, error) {
	q := &Queue{
		State: s, Framework: f, Candidates: candidates, Pending: pending, Options: o,
		Placements: make([]verdict.Placement, len(pending)),
		order:      TieBreak(s.Names, o.Seed),
	}
	var err error
	q.Classes, err = q.classes(ctx)
	s.OwnResources()
	return q, err
}

// Within returns a queue that places pods of the same entries on some of the nodes. It gives no reasons unless explain is
// set. The caller fills in the classes of the entries that it places; the slice is the same for all such queues.
func (q *Queue) Within(nodes nodeset.Set, explain bool) *Queue {
	within := *q
	within.Candidates = nodes
	within.board, within.alike, within.passing = nil, nil, nil
	within.silent = !explain
	if q.within == nil {
		q.within = make([]*Class, len(q.Pending))
	}
	within.Classes = q.within
	return &within
}

// Forget undoes every assumed pod after the first n.
func (q *Queue) Forget(n int) {
	q.State.Release(n)
	q.moves++
	q.board = nil
}

// ForgetOf undoes every assumed pod after the first n, which a queue that Within returned has assumed.
func (q *Queue) ForgetOf(within *Queue, n int) {
	within.Forget(n)
	q.moves, q.listed = within.moves, within.listed
}

// Place places a number of pods of an entry. Nothing changes when one finds no node, so that the first that finds none
// answers for those after it.
func (q *Queue) Place(ctx context.Context, entry, count int, result *verdict.Placement, watch Watcher) error {
	c := q.Classes[entry]
	q.Decision(c)
	for ; count > 0; count-- {
		node, found, err := q.best(ctx, c, result)
		if err != nil {
			return err
		}
		if !found {
			rejected := verdict.Placement{
				Nodes: result.Nodes, Scanned: result.Scanned, Unplaced: count, Failed: c.Error(q.Candidates.Len()) != "",
			}
			if err := q.explain(ctx, c, &rejected); err != nil {
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

// Assume counts a pod of an entry on a node from now on.
func (q *Queue) Assume(entry int, node uint32) {
	pod := q.Classes[entry].Pod
	q.State.Assume(pod, q.Pending[entry].Pod.Name, node, entry)
	q.moves++
	switch {
	case pod.Frees():
		q.board = nil // the board assumes that free amounts only decrease
	case q.board != nil:
		q.board.Placed(node)
	}
}

// best returns the best node for the next pod of a class, and whether there is one.
func (q *Queue) best(ctx context.Context, c *Class, result *verdict.Placement) (uint32, bool, error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	if c.Scan {
		result.Scanned++
		return q.scan(ctx, c)
	}
	if c.board == nil || c.board != q.board {
		if q.board == nil || q.board.Bytes() > cmp.Or(q.Options.Tuning.Bytes, maxBoardBytes) {
			q.board = board.New(q.State, q.order, q.Options.Tuning.Few)
		}
		c.board, c.onBoard = q.board, nil
		if nodes := q.Static(c.Decision); nodes != nil {
			c.onBoard = q.board.Template(c.Decision.Cycle, c.Decision.Rules(), nodes)
		}
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

// maxAlike is how many decisions are compared with to share static rules.
const maxAlike = 16

// Decision returns the decision about a class's pods. It shares static rules with a decision before, if it can.
func (q *Queue) Decision(c *Class) *decide.Decision {
	if c.Decision == nil {
		c.Decision = q.decide(c.Pod)
	}
	return c.Decision
}

func (q *Queue) decide(pod *cluster.Pending) *decide.Decision {
	if q.Options.Scan {
		return decide.New(q.Framework, q.State, pod)
	}
	for _, d := range q.alike {
		if q.Framework.Alike(pod.Spec(), d.Pod.Spec()) {
			return d.For(pod)
		}
	}
	d := decide.New(q.Framework, q.State, pod)
	if len(q.alike) < maxAlike {
		q.alike, q.passing = append(q.alike, d), append(q.passing, nil)
	}
	return d
}

// Static returns the candidates that pass PreFilter and the static rules; nil if the pod is rejected as a whole.
func (q *Queue) Static(d *decide.Decision) nodeset.Set {
	if d.Gated() != nil || d.PreFilter().Rejected != nil {
		return nil
	}
	for i, other := range q.alike {
		if q.Framework.Alike(d.Pod.Spec(), other.Pod.Spec()) {
			if q.passing[i] == nil {
				q.passing[i] = d.Static(q.Candidates)
			}
			return q.passing[i]
		}
	}
	return d.Static(q.Candidates)
}

// maxBoardBytes is the size of a board from which on a new one is begun before another class is added.
const maxBoardBytes = 1 << 29

// scan evaluates every node for a pod of a class.
func (q *Queue) scan(ctx context.Context, c *Class) (uint32, bool, error) {
	c.failure = nil
	outcome, err := c.Decision.Filter(ctx, q.Candidates)
	if err != nil || outcome.Feasible.Empty() {
		return 0, false, err
	}
	feasible := outcome.Feasible.Indexes()
	if len(feasible) == 1 {
		return feasible[0], true, nil
	}
	scored, err := c.Decision.Score(ctx, feasible, true)
	if err != nil {
		return 0, false, err
	}
	if c.failure = c.Decision.Failure; c.failure != nil {
		return 0, false, nil
	}
	return q.First(scored.Best), true, nil
}

// First returns the node that comes first in the order of ties.
func (q *Queue) First(nodes []uint32) uint32 {
	first := nodes[0]
	if q.order == nil {
		return first
	}
	for _, n := range nodes[1:] {
		if q.order[n] < q.order[first] {
			first = n
		}
	}
	return first
}

// Compare compares two nodes in the order of ties.
func (q *Queue) Compare(a, b uint32) int {
	if q.order == nil {
		return cmp.Compare(a, b)
	}
	return cmp.Or(cmp.Compare(q.order[a], q.order[b]), cmp.Compare(a, b))
}

// explain tells why no node can take a class's pods.
func (q *Queue) explain(ctx context.Context, c *Class, result *verdict.Placement) error {
	if q.silent {
		return nil
	}
	if c.rejected == nil || c.rejectedAt != q.moves {
		outcome, err := c.Decision.Filter(ctx, q.Candidates)
		if err != nil {
			return err
		}
		if c.failure != nil && !outcome.Feasible.Empty() {
			outcome.Rejections = append(outcome.Rejections, c.failure.Rejection(outcome.Feasible))
			q.Framework.SortRejections(outcome.Rejections)
			outcome.Message = c.failure.Message
		}
		c.rejected, c.rejectedAt = outcome, q.moves
	}
	result.Message = c.rejected.Message
	if q.listed += q.Candidates.Len(); q.listed <= verdict.MaxListedNodes {
		result.Rejections = c.rejected.Rejections
	}
	var err error
	if q.Options.Explain {
		if result.Explanation, err = c.Decision.Explain(ctx, q.Candidates); err != nil {
			return err
		}
	}
	if q.Options.Changes && c.rejected.Feasible.Empty() {
		result.Changes, err = q.Explainer(ctx, c.Decision, q.Candidates)
	}
	return err
}
