package placing

import (
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/plugin/noderesources"
)

// resources is how nodes' resources look to pods that ask for the same.
type resources struct {
	fit    *noderesources.Fit
	scorer *noderesources.Scorer
	score  []int32 // by node; full where there is no room
	seen   int     // how many of Board.placed are counted in
	// filled and risen are the nodes that became full, and those whose score rose, in order.
	filled, risen []uint32
}

const full = -1

func newResources(b *Board, c *plugin.Cycle) *resources {
	r := &resources{
		fit:    noderesources.NewFilter(c),
		scorer: noderesources.NewScorer(c),
		score:  make([]int32, len(b.all)),
		seen:   len(b.placed),
	}
	for n := range r.score {
		r.score[n] = int32(r.scorer.On(uint32(n)))
	}
	for n := range r.fit.Full().All() {
		r.score[n] = full
	}
	return r
}

// catchUp looks at the nodes that pods were placed on since.
func (r *resources) catchUp(b *Board) {
	for ; r.seen < len(b.placed); r.seen++ {
		n := b.placed[r.seen]
		before := r.score[n]
		if before == full {
			continue
		}
		if r.fit.FullOn(n) {
			r.score[n] = full
			r.filled = append(r.filled, n)
			continue
		}
		now := int32(r.scorer.On(n))
		r.score[n] = now
		if now > before {
			r.risen = append(r.risen, n)
		}
	}
}
