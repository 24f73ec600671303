package change

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// The ranks of changes, the likeliest remedy first. A policy of a spread constraint comes before the nodes that it does not count:
// where it helps, the pod has room on nodes that it may use. Next are single commands on an existing node, then fixes of likely
// oversights in the pod's spec, then looser rules. Changes with a cost follow: less for the pod, waiting for a node, more nodes,
// eviction of other pods. Last are changes that contradict a taint or a request.
const (
	rankGates = iota + 1
	rankSpreadPolicy
	rankUncordon
	rankToleration
	rankMistake // a requirement that no candidate meets, or that contradicts another one; a topology key that none has
	rankLabel
	rankNamespaces
	rankMatchLabelKey
	rankMinDomains
	rankMaxSkew
	rankRequirement
	rankPreferred
	rankRequest
	rankState // which ends without the caller
	rankAddedNode
	rankVictims
	rankSystemTaint
	rankSmallRequest // of less than half of the pod's request
)

// rank returns the rank of a change. The rank of a combination is the sum.
func rank(c *verdict.Change) int {
	switch {
	case c.RemovedGates != nil:
		return rankGates
	case c.UncordonedNode != nil:
		return rankUncordon
	case c.Tolerations != nil:
		if slices.ContainsFunc(c.Tolerations, func(t api.Toleration) bool { return ofRole(t.Key) }) {
			return rankSystemTaint
		}
		return rankToleration
	case c.ClearedTaints != nil:
		if slices.ContainsFunc(c.ClearedTaints.Taints, func(t api.Taint) bool { return ofRole(t.Key) }) {
			return rankSystemTaint
		}
		return rankState
	case c.NodeRequirement != nil:
		return rankOfRequirement(c.NodeRequirement)
	case c.TopologyKey != nil:
		return rankMistake
	case c.LabelledNode != nil:
		return rankLabel
	case c.Namespaces != nil:
		return rankNamespaces
	case c.SpreadPolicy != nil:
		return rankSpreadPolicy
	case c.MatchLabelKey != nil:
		return rankMatchLabelKey
	case c.MinDomains != nil:
		return rankMinDomains
	case c.RaisedMaxSkew != nil:
		return rankMaxSkew
	case c.PreferredRule != nil:
		return rankPreferred
	case c.LoweredRequest != nil:
		if r := c.LoweredRequest; r.To < r.From-r.To {
			return rankSmallRequest
		}
		return rankRequest
	case c.AddedNode != nil:
		return rankAddedNode
	case c.RemovedPods != nil:
		return rankVictims
	}
	sum := 0
	for i := range c.Combined {
		sum += rank(&c.Combined[i])
	}
	return sum
}

// rankOfRequirement distinguishes mistakes from intended requirements. A mistake gets a new value or key, or is dropped because it
// contradicts another requirement or kube-scheduler cannot parse it.
func rankOfRequirement(r *verdict.NodeRequirement) int {
	if r.Unparsable || r.Contradicts || r.Matching == 0 && r.To != nil {
		return rankMistake
	}
	return rankRequirement
}

// sortByRank sorts changes by rank. Changes of one rank keep their order.
func sortByRank(found []Found) {
	slices.SortStableFunc(found, func(a, b Found) int { return cmp.Compare(rank(&a.Change), rank(&b.Change)) })
}
