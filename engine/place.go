package engine

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/cluster"
	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/placing"
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

	tuning tuning
}

// tuning says how nodes are found, which no answer depends on.
type tuning struct {
	scan  bool                          // ask about every node for each pod, and take no pod for like another
	board bool                          // do not, even where it would cost less
	few   func(domains, nodes int) bool // as in placing.New
	bytes int64                         // in place of maxBoardBytes, unless 0
}

// Place decides where the pods of the queue go, one by one, each placed pod counting for the next.
// The result has one placement per queue entry.
func (c *Cluster) Place(ctx context.Context, queue []Pending, o PlaceOptions) ([]verdict.Placement, error) {
	p := &place{
		state:      cluster.NewState(ctx, c.compiled),
		candidates: c.candidates(o.Candidates),
		order:      tieBreak(c.compiled.Names, o.Seed),
		options:    o,
	}
	entries, err := p.templates(ctx, queue)
	if err != nil {
		return nil, err
	}
	p.state.OwnResources()
	placements := make([]verdict.Placement, len(queue))
	for i, t := range entries {
		if err := p.entry(ctx, t, i, &queue[i], &placements[i]); err != nil {
			return nil, err
		}
	}
	return placements, nil
}

// place is one call of Place.
type place struct {
	state      *cluster.State
	candidates nodeset.Set
	order      []uint64
	options    PlaceOptions
	board      *placing.Board
	alike      []*decision   // of pods that ask for different nodes, the first maxAlike
	passing    []nodeset.Set // what static returns for these
	placed     int           // pods so far
	listed     int           // nodes in rejections so far
}

// template is pods of the queue that nothing tells apart.
type template struct {
	pod       *cluster.Pending
	pods      int
	scan      bool           // whether to ask about every node for each pod
	d         *decision      // nil until one is to be placed
	board     *placing.Board // that onBoard is on
	onBoard   *placing.Template
	refused   *outcome // what filtering came to when no node could take one and refusedAt pods were placed
	refusedAt int
}

// entry places the pods of one queue entry. They are equal, and nothing changes when one finds no node, so the first
// that finds none speaks for those after it.
func (p *place) entry(ctx context.Context, t *template, queue int, pending *Pending, result *verdict.Placement) error {
	if t.d == nil {
		t.d = p.decide(t.pod)
	}
	for len(result.Nodes) < pending.Count {
		node, found, err := p.best(ctx, t, result)
		if err != nil {
			return err
		}
		if !found {
			result.Unplaced = pending.Count - len(result.Nodes)
			return p.explain(ctx, t, result)
		}
		p.state.Assume(t.pod, pending.Pod.Name, node, queue)
		p.placed++
		if p.board != nil {
			p.board.Placed(node)
		}
		result.Nodes = append(result.Nodes, node)
	}
	return nil
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
	if t.board == nil || t.board != p.board || t.onBoard != nil && t.onBoard.Outdated() {
		if p.board == nil || p.board.Bytes() > cmp.Or(p.options.tuning.bytes, maxBoardBytes) {
			p.board = placing.New(p.state, p.order, p.options.tuning.few)
		}
		t.board, t.onBoard = p.board, nil
		if nodes := p.static(t.d); nodes != nil {
			t.onBoard = p.board.Template(t.d.Cycle, nodes)
		}
	}
	if t.onBoard == nil {
		return 0, false, nil
	}
	node, found := t.onBoard.Best()
	return node, found, ctx.Err()
}

// maxAlike is how many decisions are compared with to save working out anew what depends on the nodes alone.
const maxAlike = 16

// decide is decide, for a pod that may ask for the same nodes as one before.
func (p *place) decide(pod *cluster.Pending) *decision {
	if p.options.tuning.scan {
		return decide(p.state, pod, p.options.Profile)
	}
	for _, d := range p.alike {
		if sameNodes(pod.Spec(), d.Pod.Spec()) {
			cycle := *d.Cycle
			cycle.Pod = pod
			return &decision{Cycle: &cycle}
		}
	}
	d := decide(p.state, pod, p.options.Profile)
	if len(p.alike) < maxAlike {
		p.alike, p.passing = append(p.alike, d), append(p.passing, nil)
	}
	return d
}

// static returns d.static of the candidates.
func (p *place) static(d *decision) nodeset.Set {
	spec := d.Pod.Spec()
	if len(spec.SchedulingGates) > 0 || len(d.Pod.HostPorts) > 0 {
		return d.static(p.candidates)
	}
	for i, other := range p.alike {
		if sameNodes(spec, other.Pod.Spec()) {
			if p.passing[i] == nil {
				p.passing[i] = d.static(p.candidates)
			}
			return p.passing[i]
		}
	}
	return d.static(p.candidates)
}

// sameNodes reports whether two pods ask for the same nodes, as far as only the nodes matter.
func sameNodes(a, b *api.PodSpec) bool {
	return a.NodeName == b.NodeName && slices.Equal(a.NodeSelector, b.NodeSelector) && slices.Equal(a.Tolerations, b.Tolerations) &&
		(a.NodeAffinity == b.NodeAffinity || reflect.DeepEqual(a.NodeAffinity, b.NodeAffinity))
}

// maxBoardBytes is from how many bytes on what is known of templates is forgotten before a new one is met.
const maxBoardBytes = 1 << 29

// scan is best by asking about every node.
func (p *place) scan(ctx context.Context, t *template) (uint32, bool, error) {
	outcome, err := t.d.filter(ctx, p.candidates)
	if err != nil || outcome.feasible.Empty() {
		return 0, false, err
	}
	feasible := outcome.feasible.Indexes()
	if len(feasible) == 1 {
		return feasible[0], true, nil
	}
	scored, err := t.d.score(ctx, feasible, true)
	if err != nil {
		return 0, false, err
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
	if t.refused == nil || t.refusedAt != p.placed {
		outcome, err := t.d.filter(ctx, p.candidates)
		if err != nil {
			return err
		}
		t.refused, t.refusedAt = outcome, p.placed
	}
	result.Message = t.refused.message
	if p.listed += p.candidates.Len(); p.listed <= verdict.MaxListedNodes {
		result.Rejections = t.refused.rejections
	}
	if !p.options.Explain {
		return nil
	}
	var err error
	result.Explanation, err = t.d.explain(ctx, p.candidates)
	return err
}
