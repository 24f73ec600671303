package engine

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// explain asks each plugin about every candidate on its own, and the plugins that count for their counts, as far as the
// request may still explain.
func (d *decision) explain(ctx context.Context, candidates nodeset.Set) (*verdict.Explanation, error) {
	e := &verdict.Explanation{}
	if !d.State.Explain(0) {
		e.Truncated = true
		return e, ctx.Err()
	}
	err := d.eachFilter(ctx, func(name verdict.Plugin, f plugin.Filter) bool {
		if d.rejectedBy(name) == nil {
			e.Failing = append(e.Failing, rejections(name, f.Refuse(candidates))...)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for name := verdict.NodeName; name <= verdict.InterPodAffinity; name++ {
		if whole := d.rejectedBy(name); whole != nil && !candidates.Empty() {
			e.Failing = append(e.Failing, whole.of(candidates))
		}
	}
	slices.SortStableFunc(e.Failing, compareRejections)
	for _, r := range e.Failing {
		d.State.Explain(verdict.EntryCost + len(r.Nodes))
	}
	finder := plugin.NewFinder(d.State)
	spread, all := podtopologyspread.Counts(d.Cycle, d.spread)
	e.Topology, e.Truncated = spread, !all
	if all {
		pods, all := interpodaffinity.Counts(d.Cycle, finder)
		e.Topology, e.Truncated = append(e.Topology, pods...), !all
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.UntoleratedTaints = tainttoleration.Untolerated(d.Cycle, candidates)
	e.Shortages = d.fit.Shortages(candidates)
	e.PortConflicts = nodeports.Conflicts(d.Cycle, finder, candidates)
	d.State.Explain(verdict.EntryCost * (len(e.Shortages) + len(e.PortConflicts)))
	for _, t := range e.UntoleratedTaints {
		d.State.Explain(verdict.EntryCost + len(t.Nodes))
	}
	return e, ctx.Err()
}
