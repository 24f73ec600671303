package noderesources

import (
	"encoding/binary"
	"iter"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
)

// Scorer scores single nodes for a pod, by their current resources.
type Scorer struct {
	fit, balanced             []column // balanced is nil if the plugin skips the pod
	of                        func([]column, uint32) int64
	fitWeight, balancedWeight int64
	fractions                 []float64
	usual                     bool // least allocated of two lanes, balanced of two lanes
}

// NewScorer returns a scorer. The state must own its resources.
func NewScorer(c *plugin.Cycle) *Scorer {
	s := &Scorer{
		fit:            fitColumns(c),
		balanced:       balancedColumns(c, c.State.Resources),
		of:             strategy(&c.Profile.Scoring),
		fitWeight:      c.Profile.Weights.NodeResourcesFit,
		balancedWeight: c.Profile.Weights.BalancedAllocation,
		fractions:      make([]float64, 0, len(c.Profile.BalancedResources)),
	}
	s.usual = usual(c, s.fit) && ofTwo(s.balanced)
	return s
}

// On returns the sum of the weighted scores of both plugins, and whether both are valid. They are invalid where
// kube-scheduler's integers overflow.
func (s *Scorer) On(n uint32) (score int64, valid bool) {
	var fit, evened int64
	if s.usual {
		a, b := &s.balanced[0], &s.balanced[1]
		of := twoOf(a, b, n)
		allocatableA, allocatedA, allocatableB, allocatedB := of.on(n % cluster.PageNodes)
		with := evennessOfTwo(allocatedA+a.request, allocatableA, allocatedB+b.request, allocatableB)
		without := evennessOfTwo(allocatedA, allocatableA, allocatedB, allocatableB)
		node, scores := [1]uint32{n}, [1]int64{}
		leastAllocatedOfTwo(&s.fit[0], &s.fit[1], node[:], scores[:])
		fit, evened = scores[0], balance(with, without)
	} else {
		fit = s.of(s.fit, n)
		if s.balanced != nil {
			evened = balance(evenness(s.balanced, n, true, s.fractions), evenness(s.balanced, n, false, s.fractions))
		}
	}
	return s.fitWeight*fit + s.balancedWeight*evened, (Valid(fit) || s.fitWeight == 0) && (Valid(evened) || s.balancedWeight == 0)
}

// ValidOn reports whether the scores of all given nodes are valid.
func (s *Scorer) ValidOn(nodes iter.Seq[uint32]) bool {
	for n := range nodes {
		if _, valid := s.On(n); !valid {
			return false
		}
	}
	return true
}

// Valid reports whether kube-scheduler accepts a plugin's score (pkg/scheduler/framework/runtime/framework.go
// RunScorePlugins, v1.37).
func Valid(score int64) bool { return uint64(score) <= plugin.MaxScore }

// Key returns a cache key of the pod's requests. Pods with equal keys have equal filters and scores in this package.
func Key(c *plugin.Cycle) string {
	var b []byte
	spec := c.Pod.Spec()
	for _, key := range [][]byte{appendKey(nil, requests.Pending(spec)), appendKey(nil, requests.PendingDefaulted(spec))} {
		b = append(binary.AppendUvarint(b, uint64(len(key))), key...)
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
