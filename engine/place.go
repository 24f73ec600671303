package engine

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

// Pending is a queue entry: Count equal pods in a row.
type Pending struct {
	Pod   api.Pod
	Count int
}

// PlaceOptions are the arguments of Place besides the queue.
type PlaceOptions struct {
	Profile    *api.Profile
	Candidates []uint32
	// Seed picks among the best nodes: 0 the one with the lowest index, otherwise the first in ascending order of
	// splitmix64(Seed xor FNV-1a-64(name)), then of index.
	Seed    uint64
	Explain bool
	// Changes asks for Placement.Changes.
	Changes bool
	// Groups are entries that are placed together; an entry is in one at most.
	Groups []Group
	// Partial asks for what was placed so far when the context's deadline comes.
	Partial bool
	// Watch, if there is one, is told what is decided as it is.
	Watch Watcher
	// Scan has every node asked about for each pod, and no pod taken for like another: the plain way, which gives the same
	// nodes, to compare with.
	Scan bool

	tuning tuning
}

// tuning says how nodes are found, which no answer depends on.
type tuning struct {
	board bool                          // do not, even where it would cost less
	few   func(domains, nodes int) bool // as in board.New
	bytes int64                         // in place of maxBoardBytes, unless 0
}

// Watcher is told where the pods of a queue go while they are placed. An error of its own ends the call.
type Watcher interface {
	// Placed tells that the next pod of an entry goes to a node.
	Placed(entry int, node uint32) error
	// Entry tells that an entry is done.
	Entry(entry int, p *verdict.Placement) error
	// Group tells that a group is done, after its pods and entries.
	Group(group int, g *verdict.Group) error
}

// Place decides where the pods of the queue go, one by one, each placed pod counting for the next, and those of a group
// together.
func (c *Cluster) Place(ctx context.Context, queue []Pending, o PlaceOptions) (*verdict.Place, error) {
	return c.placeOn(ctx, cluster.NewState(ctx, c.compiled), queue, o)
}

// placeOn is Place in a state, which is the caller's to give away.
func (c *Cluster) placeOn(ctx context.Context, state *cluster.State, queue []Pending, o PlaceOptions) (*verdict.Place, error) {
	p := &place{
		state:      state,
		candidates: c.candidates(o.Candidates),
		order:      tieBreak(c.compiled.Names, o.Seed),
		options:    o,
		cluster:    c,
		framework:  c.framework(o.Profile),
		queue:      queue,
		result:     &verdict.Place{Placements: make([]verdict.Placement, len(queue)), Groups: make([]verdict.Group, len(o.Groups))},
	}
	err := p.all(ctx)
	if err == context.DeadlineExceeded && o.Partial {
		p.cut()
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return p.result, nil
}

// place is one call of Place.
type place struct {
	state      *cluster.State
	candidates nodeset.Set
	order      []uint64
	options    PlaceOptions
	queue      []Pending
	entries    []*template
	there      []*template // entries, where a group is tried in one domain
	prefer     []uint32    // nodes in the order of ties; nil until needed
	cluster    *Cluster
	result     *verdict.Place
	board      *board.Board
	framework  *decide.Framework
	alike      []*decide.Decision // of pods with different static rules, the first maxAlike
	passing    []nodeset.Set      // what static returns for these
	moves      int                // pods placed and taken back so far
	listed     int                // nodes in rejections so far
	silent     bool               // whether nobody wants to know why a pod is not placed
}

// all places the queue.
func (p *place) all(ctx context.Context) error {
	var err error
	if p.entries, err = p.templates(ctx, p.queue); err != nil {
		return err
	}
	p.state.OwnResources()
	groups, err := p.groups()
	if err != nil {
		return err
	}
	for i := range p.queue {
		switch g := groups[i]; {
		case g == nil:
			err = p.entry(ctx, i, p.queue[i].Count, &p.result.Placements[i], p.options.Watch)
		case !g.done:
			err = p.group(ctx, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cut says of what is left of the queue that the deadline came first.
func (p *place) cut() {
	p.result.Partial = true
	for i := range p.result.Placements {
		r := &p.result.Placements[i]
		if left := p.queue[i].Count - len(r.Nodes) - r.Unplaced; left > 0 {
			r.Unplaced += left
			r.Unattempted = left
		}
	}
	for i := range p.result.Groups {
		if g := &p.result.Groups[i]; g.Status == 0 {
			*g = verdict.Group{Name: p.options.Groups[i].Name, Status: verdict.GroupUnattempted, First: -1}
			for _, e := range p.options.Groups[i].Entries {
				g.Unplaced += p.queue[e].Count
			}
		}
	}
}

// template is pods of the queue that every decision treats alike.
type template struct {
	pod       *cluster.Pending
	pods      int
	scan      bool             // whether to ask about every node for each pod
	d         *decide.Decision // nil until one is to be placed
	board     *board.Board     // that onBoard is on
	onBoard   *board.Template
	refused   *decide.Outcome // what filtering came to when no node could take one, after refusedAt moves
	refusedAt int
	failure   *decide.Failure // why kube-scheduler failed to score the last pod; nil if it did not
}

// entry places so many more pods of one queue entry. They are equal, and nothing changes when one finds no node, so the first
// that finds none speaks for those after it.
func (p *place) entry(ctx context.Context, entry, count int, result *verdict.Placement, watch Watcher) error {
	t := p.entries[entry]
	if t.d == nil {
		t.d = p.decide(t.pod)
	}
	for ; count > 0; count-- {
		node, found, err := p.best(ctx, t, result)
		if err != nil {
			return err
		}
		if !found {
			refused := verdict.Placement{
				Nodes: result.Nodes, Scanned: result.Scanned, Unplaced: count, Failed: t.error(p.candidates.Len()) != "",
			}
			if err := p.explain(ctx, t, &refused); err != nil {
				return err
			}
			*result = refused
			break
		}
		p.assume(entry, node)
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

// assume counts a pod of an entry on a node from now on.
func (p *place) assume(entry int, node uint32) {
	p.state.Assume(p.entries[entry].pod, p.queue[entry].Pod.Name, node, entry)
	p.moves++
	switch {
	case p.entries[entry].pod.Frees():
		p.board = nil // the board assumes that free amounts only decrease
	case p.board != nil:
		p.board.Placed(node)
	}
}

// best returns the node that the next of a template's pods goes to, and whether there is one.
func (p *place) best(ctx context.Context, t *template, result *verdict.Placement) (uint32, bool, error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	if t.scan {
		result.Scanned++
		return p.scan(ctx, t)
	}
	if t.board == nil || t.board != p.board {
		if p.board == nil || p.board.Bytes() > cmp.Or(p.options.tuning.bytes, maxBoardBytes) {
			p.board = board.New(p.state, p.order, p.options.tuning.few)
		}
		t.board, t.onBoard = p.board, nil
		if nodes := p.static(t.d); nodes != nil {
			t.onBoard = p.board.Template(t.d.Cycle, t.d.Rules(), nodes)
		}
	}
	if t.onBoard == nil {
		return 0, false, nil
	}
	node, found := t.onBoard.Best()
	if !t.onBoard.Scored() {
		t.scan = true
		return p.best(ctx, t, result)
	}
	return node, found, ctx.Err()
}

// error returns the text of the error with which kube-scheduler failed on the last pod, empty if it did not.
func (t *template) error(candidates int) string {
	if rejected := t.d.PreFilter().Rejected; rejected != nil && rejected.Code == verdict.Error {
		return rejected.Message(candidates)
	}
	if t.failure != nil {
		return t.failure.Message
	}
	return ""
}

// maxAlike is how many decisions are compared with to save working out anew what depends on the nodes alone.
const maxAlike = 16

// decide returns the decision about a pod, which may have the static rules of one before.
func (p *place) decide(pod *cluster.Pending) *decide.Decision {
	if p.options.Scan {
		return decide.New(p.framework, p.state, pod)
	}
	for _, d := range p.alike {
		if p.framework.Alike(pod.Spec(), d.Pod.Spec()) {
			return d.For(pod)
		}
	}
	d := decide.New(p.framework, p.state, pod)
	if len(p.alike) < maxAlike {
		p.alike, p.passing = append(p.alike, d), append(p.passing, nil)
	}
	return d
}

// static returns d.Static of the candidates.
func (p *place) static(d *decide.Decision) nodeset.Set {
	if d.Gated() != nil || d.PreFilter().Rejected != nil {
		return nil
	}
	for i, other := range p.alike {
		if p.framework.Alike(d.Pod.Spec(), other.Pod.Spec()) {
			if p.passing[i] == nil {
				p.passing[i] = d.Static(p.candidates)
			}
			return p.passing[i]
		}
	}
	return d.Static(p.candidates)
}

// maxBoardBytes is from how many bytes on what is known of templates is forgotten before a new one is met.
const maxBoardBytes = 1 << 29

// scan is best by asking about every node.
func (p *place) scan(ctx context.Context, t *template) (uint32, bool, error) {
	t.failure = nil
	outcome, err := t.d.Filter(ctx, p.candidates)
	if err != nil || outcome.Feasible.Empty() {
		return 0, false, err
	}
	feasible := outcome.Feasible.Indexes()
	if len(feasible) == 1 {
		return feasible[0], true, nil
	}
	scored, err := t.d.Score(ctx, feasible, true)
	if err != nil {
		return 0, false, err
	}
	if t.failure = t.d.Failure; t.failure != nil {
		return 0, false, nil
	}
	chosen := scored.Best[0]
	if p.order != nil {
		for _, n := range scored.Best[1:] {
			if p.order[n] < p.order[chosen] {
				chosen = n
			}
		}
	}
	return chosen, true, nil
}

// explain tells why no node can take a template's pods.
func (p *place) explain(ctx context.Context, t *template, result *verdict.Placement) error {
	if p.silent {
		return nil
	}
	if t.refused == nil || t.refusedAt != p.moves {
		outcome, err := t.d.Filter(ctx, p.candidates)
		if err != nil {
			return err
		}
		if t.failure != nil && !outcome.Feasible.Empty() {
			outcome.Rejections = append(outcome.Rejections, t.failure.Rejection(outcome.Feasible))
			p.framework.SortRejections(outcome.Rejections)
			outcome.Message = t.failure.Message
		}
		t.refused, t.refusedAt = outcome, p.moves
	}
	result.Message = t.refused.Message
	if p.listed += p.candidates.Len(); p.listed <= verdict.MaxListedNodes {
		result.Rejections = t.refused.Rejections
	}
	var err error
	if p.options.Explain {
		if result.Explanation, err = t.d.Explain(ctx, p.candidates); err != nil {
			return err
		}
	}
	if p.options.Changes && t.refused.Feasible.Empty() {
		result.Changes, err = changes(ctx, t.d, p.candidates)
	}
	return err
}
