package encode

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Consolidate encodes the response to a ConsolidateRequest. names are the names of the cluster's nodes, nil for none. address is the
// content address of the cluster.
func Consolidate(_ *stowagev1.ConsolidateRequest, c *verdict.Consolidation, names Names, address string) ([]byte, error) {
	if names != nil {
		var added []string
		for i := range c.Actions {
			if a := &c.Actions[i]; a.Template >= 0 {
				added = append(added, a.Name)
			}
		}
		names = slices.Concat(names, added)
	}
	e := encoder{names: names, b: make([]byte, 0, fixedBytes)}
	e.message(&stowagev1.ConsolidateResponse{
		CostBefore: uint64(c.Before), CostAfter: uint64(c.After), LowerBound: uint64(c.Bound), Optimal: c.Optimal,
		Steps: uint64(c.Steps), Partial: c.Partial, SnapshotAddress: address,
	})
	for i := range c.Actions {
		a := &c.Actions[i]
		out := &stowagev1.ConsolidateAction{CostBefore: uint64(a.Before), CostAfter: uint64(a.After)}
		if a.Template >= 0 {
			out.TemplateIndex, out.NewNodeIndex, out.NewNodeName = new(uint32(a.Template)), new(a.Node), a.Name
		}
		e.lengthDelimited(1, func() {
			e.lengthDelimited(1, func() { e.drain(a.Drain) })
			e.message(out)
		})
	}
	for i := range c.Kept {
		k := &c.Kept[i]
		e.lengthDelimited(6, func() {
			e.lengthDelimited(1, func() { e.drain(k.Drain) })
			e.message(&stowagev1.KeptNode{Reason: keptReason(k.Reason)})
		})
	}
	return e.b, e.err
}
