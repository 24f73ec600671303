package board

import (
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
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
	at     *cluster.Move
	// risen are nodes whose heap entries may have risen, in order: since the chain of moves was undone to its beginning for the last
	// time, which epoch counts, all nodes of the moves after that, and those whose entry rose later.
	risen []uint32
	epoch int
	// invalid is set once a node with room has a score that kube-scheduler rejects.
	invalid bool
}

const full = -1

func newResources(b *Board, c *plugin.Cycle, fit *rule.Fit) *resources {
	r := &resources{
		fit:    fit,
		scorer: noderesources.NewScorer(c),
		score:  make([]int32, len(b.all)),
		at:     b.state.LastMove(),
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

// catchUp updates the nodes that pods came to or left.
func (r *resources) catchUp(b *Board) {
	to := b.state.LastMove()
	if r.at == to {
		return
	}
	began := r.at != nil && cluster.Parted(r.at, to)
	if began {
		r.risen = r.risen[:0]
		r.epoch++
	}
	cluster.Way(r.at, to, func(m *cluster.Move, sign int32) {
		if m.Group < 0 {
			return
		}
		n := m.Node
		before := r.score[n]
		now := r.set(n, r.fit == nil || !r.fit.FullOn(n))
		if began && sign > 0 || now > before || b.ranks.Count() && m.Raises(sign) {
			r.risen = append(r.risen, n)
		}
	})
	r.at = to
}
