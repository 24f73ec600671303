package consolidate

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/drain"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// state is the cluster after some actions. It does not change.
type state struct {
	cluster *cluster.Cluster
	number  []uint32 // by node of the cluster, its index in the answer
	alive   []int    // candidates that are left, ascending
	counts  []int    // new nodes by template
	added   int
	cost    int64
	actions []verdict.ConsolidateAction
	lists   drain.Lists     // what the lists of further drains may have
	came    map[uint32]bool // nodes of the answer to which pods came in the last action
	weights *drain.Weights  // by position in alive; nil until needed
	free    drain.Amounts   // on all nodes, with weights
	// Until weights is computed: before has the weights of the previous state, and same, by position in alive, the previous weight of a
	// node to which no pods came.
	before *drain.Weights
	same   []*drain.Weight
}

// has reports whether all candidates of a set are left.
func (st *state) has(set []int) bool {
	return !slices.ContainsFunc(set, func(c int) bool { _, found := slices.BinarySearch(st.alive, c); return !found })
}

// weigh returns the weights of a state's candidates.
func (s *solver) weigh(ctx context.Context, st *state) (*drain.Weights, error) {
	if st.weights == nil {
		x, err := s.trialsOf(ctx, st, -1)
		if err != nil {
			return nil, err
		}
		same := func(i int) *drain.Weight {
			if st.same == nil {
				return nil
			}
			return st.same[i]
		}
		if st.weights, err = x.drains.Weigh(ctx, st.before, same); err != nil {
			return nil, err
		}
		st.before, st.same = nil, nil
		st.free = st.weights.Rest
		for i := range st.weights.Nodes {
			for r, amount := range st.weights.Nodes[i].Free {
				st.free[r] = saturating.Add(st.free[r], amount)
			}
		}
	}
	return st.weights, nil
}
