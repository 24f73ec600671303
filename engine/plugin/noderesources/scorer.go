package noderesources

import (
	"encoding/binary"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/requests"
)

// Scorer scores one node at a time for a pod, as its resources are then.
type Scorer struct {
	fit, balanced             []column // balanced is nil if the plugin skips the pod
	of                        func([]column, uint32) int64
	fitWeight, balancedWeight int64
	fractions                 []float64
}

// NewScorer returns a scorer. The state must own its resources.
func NewScorer(c *plugin.Cycle) *Scorer {
	return &Scorer{
		fit:            fitColumns(c),
		balanced:       balancedColumns(c),
		of:             strategy(&c.Profile.Scoring),
		fitWeight:      c.Profile.Weights.NodeResourcesFit,
		balancedWeight: c.Profile.Weights.BalancedAllocation,
		fractions:      make([]float64, 0, len(c.Profile.BalancedResources)),
	}
}

// On returns a node's weighted scores of both plugins together.
func (s *Scorer) On(n uint32) int64 {
	score := s.fitWeight * s.of(s.fit, n)
	if s.balanced != nil {
		with, without := evenness(s.balanced, n, true, s.fractions), evenness(s.balanced, n, false, s.fractions)
		score += s.balancedWeight * balance(with, uint8(without))
	}
	return score
}

// Totals returns On of each of some nodes.
func Totals(c *plugin.Cycle, nodes []uint32) []int64 {
	totals := make([]int64, len(nodes))
	for i, v := range Score(c, nodes) {
		totals[i] = c.Profile.Weights.NodeResourcesFit * v
	}
	for i, v := range BalancedScore(c, nodes) {
		totals[i] += c.Profile.Weights.BalancedAllocation * v
	}
	return totals
}

// Key returns what two pods have in common only if filters and scores of this package are the same for both.
func Key(c *plugin.Cycle) string {
	var b []byte
	spec := c.Pod.Spec()
	for _, asked := range [][]byte{appendKey(nil, requests.Pending(spec)), appendKey(nil, requests.PendingDefaulted(spec))} {
		b = append(binary.AppendUvarint(b, uint64(len(asked))), asked...)
	}
	return string(b)
}

func appendKey(b []byte, r api.Resources) []byte {
	for _, q := range r {
		b = append(binary.AppendUvarint(b, uint64(len(q.Resource))), q.Resource...)
		b = binary.AppendVarint(b, q.Amount)
	}
	return b
}
