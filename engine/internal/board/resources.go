package board

import (
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
	// filled are the nodes that became full, risen those whose score rose, in order.
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
	valid := true
	for n := range r.score {
		var ok bool
		r.score[n], ok = r.scoreOn(uint32(n))
		valid = valid && ok
	}
	if fit != nil {
		for n := range fit.Full().All() {
			r.score[n] = full
		}
	}
	if !valid {
		for n := range r.score {
			if _, ok := r.scorer.On(uint32(n)); !ok && r.score[n] != full {
				r.invalid = true
			}
		}
	}
	return r
}

// scoreOn returns a node's score, and whether it is valid. An invalid score is stored as 0, because it could
// equal full (-1).
func (r *resources) scoreOn(n uint32) (score int32, valid bool) {
	weighted, valid := r.scorer.On(n)
	if !valid {
		return 0, false
	}
	return int32(weighted), true
}

// catchUp updates the nodes that pods were assumed on.
func (r *resources) catchUp(b *Board) {
	for ; r.seen < len(b.placed); r.seen++ {
		n := b.placed[r.seen]
		before := r.score[n]
		if before == full {
			continue
		}
		if r.fit != nil && r.fit.FullOn(n) {
			r.score[n] = full
			r.filled = append(r.filled, n)
			continue
		}
		now, valid := r.scoreOn(n)
		r.score[n] = now
		r.invalid = r.invalid || !valid
		if now > before {
			r.risen = append(r.risen, n)
		}
	}
}
