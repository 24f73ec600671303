package remedy

import (
	"cmp"
	"math"
	"slices"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// inOrder returns changes in an order in which each finds its index in the pod's spec: what leaves a list does so last, the
// highest index first. The node affinity as a whole becomes a preference at the very end.
func inOrder(changes []*stowagev1.Change) []*stowagev1.Change {
	out := slices.Clone(changes)
	slices.SortStableFunc(out, func(a, b *stowagev1.Change) int { return cmp.Compare(leaving(b), leaving(a)) })
	return out
}

// leaving returns the index that a change takes out of a list of the pod's spec. Of other changes it is above all indexes; of one that
// takes all lists of the node affinity it is below them.
func leaving(c *stowagev1.Change) int64 {
	if r := c.GetChangedNodeRequirement(); r != nil && r.TermIndex != nil && r.GetTo() == nil {
		return int64(r.GetExpressionIndex())
	}
	if c.GetPreferredRule().GetPlugin() == stowagev1.Plugin_PLUGIN_NODE_AFFINITY {
		return -1
	}
	switch r := c.GetPreferredRule(); r.GetRule() {
	case stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD, stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY,
		stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY:
		return int64(r.GetIndex())
	}
	return math.MaxInt64
}
