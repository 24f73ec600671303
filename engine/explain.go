package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// explain asks each plugin about every candidate on its own, and the plugins that count for their counts.
func (d *decision) explain(ctx context.Context, candidates nodeset.Set) (*verdict.Explanation, error) {
	e := &verdict.Explanation{}
	err := d.eachFilter(ctx, func(name verdict.Plugin, f plugin.Filter) bool {
		e.Failing = append(e.Failing, rejections(name, f.Refuse(candidates))...)
		return true
	})
	if err != nil {
		return nil, err
	}
	finder := plugin.NewFinder(d.State)
	e.Topology = append(podtopologyspread.Counts(d.Cycle, d.spread), interpodaffinity.Counts(d.Cycle, finder)...)
	e.UntoleratedTaints = tainttoleration.Untolerated(d.Cycle, candidates)
	e.Shortages = d.fit.Shortages(candidates)
	e.PortConflicts = nodeports.Conflicts(d.Cycle, finder, candidates)
	return e, ctx.Err()
}
