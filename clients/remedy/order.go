package remedy

import (
	"cmp"
	"math"
	"slices"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// inOrder returns changes in an order in which each finds its index in the pod's spec: what leaves a list does so last, the
// highest index first.
func inOrder(changes []*stowagev1.Change) []*stowagev1.Change {
	out := slices.Clone(changes)
	slices.SortStableFunc(out, func(a, b *stowagev1.Change) int { return cmp.Compare(leaving(b), leaving(a)) })
	return out
}

// leaving returns the index that a change takes out of a list of the pod's spec. Of other changes it is above all indexes.
func leaving(c *stowagev1.Change) uint64 {
	if r := c.GetChangedNodeRequirement(); r != nil && r.TermIndex != nil && r.GetTo() == nil {
		return uint64(r.GetExpressionIndex())
	}
	switch r := c.GetPreferredRule(); r.GetRule() {
	case stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD, stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY,
		stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY:
		return uint64(r.GetIndex())
	}
	return math.MaxUint64
}
