package noderesources

import (
	"encoding/binary"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
)

// Scorer scores one node at a time for a pod, as its resources are then.
type Scorer struct {
	fit, balanced             []column // balanced is nil if the plugin skips the pod
	of                        func([]column, uint32) int64
	fitWeight, balancedWeight int64
	fractions                 []float64
	usual                     bool // leastAllocated of two resources, whose evenness is evennessOfTwo
}

// NewScorer returns a scorer. The state must own its resources.
func NewScorer(c *plugin.Cycle) *Scorer {
	s := &Scorer{
		fit:            fitColumns(c),
		balanced:       balancedColumns(c),
		of:             strategy(&c.Profile.Scoring),
		fitWeight:      c.Profile.Weights.NodeResourcesFit,
		balancedWeight: c.Profile.Weights.BalancedAllocation,
		fractions:      make([]float64, 0, len(c.Profile.BalancedResources)),
	}
	s.usual = usual(c, s.fit) && ofTwo(s.balanced)
	return s
}

// On returns a node's weighted scores of both plugins together, and whether both are valid: kube-scheduler's are not where
// its integers overflow.
func (s *Scorer) On(n uint32) (score int64, valid bool) {
	var fit, evened int64
	if s.usual {
		a, b := &s.balanced[0], &s.balanced[1]
		with := evennessOfTwo(a.allocated[n]+a.request, a.allocatable[n], b.allocated[n]+b.request, b.allocatable[n])
		without := evennessOfTwo(a.allocated[n], a.allocatable[n], b.allocated[n], b.allocatable[n])
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

// ValidOn reports whether the scores of all of some nodes are valid.
func (s *Scorer) ValidOn(nodes nodeset.Set) bool {
	for n := range nodes.All() {
		if _, valid := s.On(n); !valid {
			return false
		}
	}
	return true
}

// Valid reports whether kube-scheduler takes a plugin's score
// (pkg/scheduler/framework/runtime/framework.go RunScorePlugins, v1.37).
func Valid(score int64) bool { return uint64(score) <= plugin.MaxScore }

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
