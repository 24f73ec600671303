package board

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// resources holds the resource scores of nodes for one distinct request.
type resources struct {
	fit    *rule.Fit
	scorer *noderesources.Scorer
	score  []int32 // by node; full without room
	seen   int     // how many of Board.placed are counted
	// filled are the nodes that became full, and risen the nodes whose score rose, in order.
	filled, risen []uint32
	// invalid is set once a node with room has a score that kube-scheduler rejects.
	invalid bool
}

const full = -1

func newResources(b *Board, c *plugin.Cycle, fit *rule.Fit) *resources {
	r := &resources{
		fit:    fit,
		scorer: noderesources.NewScorer(c),
		score:  make([]int32, len(b.all)),
		seen:   len(b.placed),
	}
	lacking := nodeset.New(len(b.all))
	if fit != nil {
		lacking = fit.Full()
	}
	for n := range r.score {
		r.set(uint32(n), !lacking.Has(uint32(n)))
	}
	return r
}

// set computes the score of a node and returns it. An invalid score is stored as 0, because it could equal full (-1).
func (r *resources) set(n uint32, room bool) int32 {
	if !room {
		r.score[n] = full
		return full
	}
	weighted, valid := r.scorer.On(n)
	if !valid {
		weighted, r.invalid = 0, true
	}
	r.score[n] = int32(weighted)
	return r.score[n]
}

// catchUp updates the nodes that pods were assumed on.
func (r *resources) catchUp(b *Board) {
	for ; r.seen < len(b.placed); r.seen++ {
		n := b.placed[r.seen]
		before := r.score[n]
		if before == full {
			continue
		}
		switch now := r.set(n, r.fit == nil || !r.fit.FullOn(n)); {
		case now == full:
			r.filled = append(r.filled, n)
		case now > before:
			r.risen = append(r.risen, n)
		}
	}
}
