package decide

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Explain runs each plugin on all candidates and collects the details of its counts, within the budget of the request. For a node
// that is infeasible because of its nominated pods, the failures are determined with these pods, and the counts without them.
func (d *Decision) Explain(ctx context.Context, candidates nodeset.Set) (*verdict.Explanation, error) {
	e := &verdict.Explanation{}
	if !d.State.Explain(0) {
		e.Truncated = true
		return e, ctx.Err()
	}
	compiled := make(map[*plugin.Plugin]*rule.Set)
	err := d.EachFilter(ctx, func(p *plugin.Plugin, rules *rule.Set) bool {
		compiled[p] = rules
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, p := range d.Filters {
		if r := d.RejectedBy(p); r != nil && !candidates.Empty() {
			e.Failing = append(e.Failing, r.Of(candidates))
		} else if compiled[p] != nil {
			_, rejections := compiled[p].Reject(p.Name, candidates)
			if with := d.withNominated(candidates); with != nil {
				with.filter(p, compiled[p], true)
				rejections = with.replace(rejections)
			}
			e.Failing = append(e.Failing, rejections...)
		}
	}
	d.SortRejections(e.Failing)
	for _, r := range e.Failing {
		d.State.Explain(verdict.EntryCost + len(r.Nodes))
	}
	x := &plugin.Explaining{Explanation: e, Candidates: candidates}
	for _, p := range d.Filters {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if x.Rules = compiled[p]; p.Explain != nil {
			if x.Rules == nil {
				x.Rules = &rule.Set{}
			}
			p.Explain(d.Cycle, x)
		}
	}
	return e, ctx.Err()
}
