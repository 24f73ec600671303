package decode

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Consolidate decodes a ConsolidateRequest except for its cluster.
func (r *Request) Consolidate(in *stowagev1.ConsolidateRequest) engine.ConsolidateOptions {
	o := engine.ConsolidateOptions{
		Profile:     r.profile(in.GetContext().GetProfile()),
		Candidates:  r.pricedNodes(in.GetCandidates()),
		Seed:        in.GetTieBreakSeed(),
		FewestPods:  r.fewestPods(in.GetTieBreak()),
		Terminating: r.terminating(in.GetEvictedPods()),
		Partial:     in.GetAllowPartial(),
	}
	o.MaxActions, o.MaxNodes, o.Steps = r.consolidateLimits(in)
	o.MaxActions = min(o.MaxActions, max(1, len(o.Candidates)))
	if len(in.GetTemplates()) > 0 {
		o.Templates = r.nodeTemplates(in.GetTemplates(), "max_actions", o.MaxActions)
	}
	return o
}

// pricedNodes decodes the nodes that may be removed, in ascending order.
func (d *decoder) pricedNodes(in []*stowagev1.PricedNodes) []engine.PricedNode {
	var root *path
	const field = "candidates"
	if !d.require(len(in) > 0, root.field(field)) || !d.within(root, field, len(in), MaxPricedNodes) {
		return nil
	}
	nodes, _ := d.nodes()
	first := make([]int32, nodes) // by node: the position in the list, and one
	var out []engine.PricedNode
	for i, p := range in {
		if d.over() {
			return nil
		}
		if d.ended = d.ctx.Err(); d.ended != nil {
			return nil
		}
		at := root.item(field, i)
		if p.GetPrice() > MaxPrice {
			d.refuse(at.field("price"), outOfRange, "is %d, 0 to %d are allowed", p.GetPrice(), int64(MaxPrice))
		}
		var of []uint32
		if p.GetNodes() != nil {
			of = d.nodesAt(at.field("nodes"), p.GetNodes())
		} else {
			for n := range nodes {
				of = append(of, uint32(n))
			}
		}
		for _, n := range of {
			if int(n) >= nodes { // refused
				continue
			}
			if first[n] > 0 {
				d.refuse(at.field("nodes"), duplicate, "has node %d, which candidates[%d] has too", n, first[n]-1)
				break
			}
			first[n] = int32(i + 1)
			out = append(out, engine.PricedNode{Node: n, Price: int64(min(p.GetPrice(), MaxPrice))})
		}
	}
	slices.SortFunc(out, func(a, b engine.PricedNode) int { return int(a.Node) - int(b.Node) })
	return out
}

// consolidateLimits returns the numbers of actions, of nodes that one of them removes, and of steps.
func (d *decoder) consolidateLimits(in *stowagev1.ConsolidateRequest) (actions, nodes, steps int) {
	actions, nodes, steps = defaultNewNodes, 1, defaultConsolidateSteps
	for _, limit := range []struct {
		name string
		set  *uint32
		most int64
		to   *int
	}{
		{"max_actions", in.MaxActions, MaxNewNodes, &actions},
		{"max_nodes_per_action", in.MaxNodesPerAction, MaxNodesPerAction, &nodes},
		{"max_steps", in.MaxSteps, MaxSteps, &steps},
	} {
		if limit.set != nil {
			d.between(path{name: limit.name}, int64(*limit.set), 1, limit.most)
			*limit.to = int(min(int64(*limit.set), limit.most))
		}
	}
	return actions, nodes, steps
}
