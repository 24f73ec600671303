package fit

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/change"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// changes returns the changes that give the binding pod a feasible node, and with which more units fit.
func (p *Problem) changes(ctx context.Context, d *decide.Decision, result *verdict.Fit) ([]verdict.FitChange, error) {
	found, err := change.FindBeside(ctx, d, p.Candidates)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(c change.Found) bool {
		return c.Copy == nil && c.Victims == nil && c.Alteration == nil && exactly(&c, d.Pod.Spec()) == nil
	})
	var more []verdict.FitChange
	err = parallel.Each(ctx, len(found), parallel.Options[int]{Workers: workers()},
		func(ctx context.Context, i int) (int, error) { return p.with(ctx, &found[i], result.Binding) },
		func(i, units int) error {
			if units > result.Units {
				more = append(more, verdict.FitChange{Change: found[i].Change, Units: units})
			}
			return nil
		})
	return more, err
}

// with returns the number of units that fit with a change. The spec of the change replaces the spec of the pods of one entry.
func (p *Problem) with(ctx context.Context, c *change.Found, entry int) (int, error) {
	w := *p
	if c.Copy != nil {
		var err error
		if w.Cluster, err = p.Cluster.WithCopy(ctx, c.Copy); err != nil {
			return 0, err
		}
		w.Candidates = nodeset.Of(w.Cluster.Len(), append(p.Candidates.Indexes(), uint32(p.Cluster.Len())))
	}
	if c.Alteration != nil {
		var err error
		if w.Cluster, err = p.Cluster.Altered(ctx, c.Alteration); err != nil {
			return 0, err
		}
	}
	if spec := exactly(c, &p.Mix[entry].Pod.Template.Spec); spec != nil {
		w.Mix = slices.Clone(p.Mix)
		pod, template := &w.Mix[entry].Pod, *p.Mix[entry].Pod.Template
		spec(&template.Spec)
		pod.Template, pod.TemplateIndex = &template, -1
	}
	s := cluster.NewState(ctx, w.Cluster)
	s.Bring(uint32(w.Cluster.Len()-1), c.Tied)
	for i := range c.Victims {
		s.Evict(c.From, &c.Victims[i])
	}
	q, err := w.queue(ctx, s)
	if err != nil {
		return 0, err
	}
	f, err := w.fill(ctx, q)
	if err != nil {
		return 0, err
	}
	return f.units, nil
}

// exactly returns how a change changes the spec of a pod, nil if it does not, or if that is not known exactly: a preferred rule
// needs a weight unless it is a spread constraint, and the request of a pod is in one place only if it has a single container.
func exactly(c *change.Found, of *api.PodSpec) func(*api.PodSpec) {
	switch {
	case c.PreferredRule != nil && c.PreferredRule.Rule != verdict.HardSpread:
		return nil
	case c.LoweredRequest == nil:
		return c.Spec
	case len(of.Containers) == 1 && len(of.InitContainers)+len(of.Requests)+len(of.Overhead) == 0:
		return func(spec *api.PodSpec) {
			spec.Containers = slices.Clone(spec.Containers)
			only := &spec.Containers[0]
			only.Requests = slices.Clone(only.Requests)
			for i := range only.Requests {
				if only.Requests[i].Resource == c.LoweredRequest.Resource {
					only.Requests[i].Amount = c.LoweredRequest.To
				}
			}
		}
	}
	return nil
}
