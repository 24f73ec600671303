// Package noderesources rejects nodes with insufficient free resources, and scores nodes by utilization and its balance
// (pkg/scheduler/framework/plugins/noderesources, v1.37).
package noderesources

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Fit is NodeResourcesFit.
var Fit = &plugin.Plugin{
	Name:      verdict.NodeResourcesFit,
	Compile:   func(c *plugin.Cycle, s *rule.Set) { s.Fit = s.Fit.And(NewFit(c)) },
	Waits:     waits,
	Explain:   explain,
	Score:     Score,
	Weight:    func(w *api.Weights) *int64 { return &w.NodeResourcesFit },
	Unbounded: true,
}

// Balanced is NodeResourcesBalancedAllocation.
var Balanced = &plugin.Plugin{
	Name:      verdict.BalancedAllocation,
	Score:     BalancedScore,
	Weight:    func(w *api.Weights) *int64 { return &w.BalancedAllocation },
	Unbounded: true,
}

// NewFit returns the rule that the node has room for the pod. Ignored scalar resources do not count.
func NewFit(c *plugin.Cycle) *rule.Fit {
	requested := requests.Pending(c.Pod.Spec())
	counted := make(api.Resources, 0, len(requested))
	for _, q := range requested {
		lane := slices.Contains(cluster.LaneNames[:], q.Resource)
		if lane || requests.Scalar(q.Resource) && !ignored(q.Resource, c.Profile) {
			counted = append(counted, q)
		}
	}
	fit := rule.NewFit(c.State, counted)
	// fit.go shouldDelegateResourceToDRA, v1.37
	fit.ByDevices(func(resource string) bool { return c.State.Devices().Serving(resource) != nil })
	return fit
}

// waits returns that every pod which leaves is waited for (fit.go isSchedulableAfterAssignedPodDelete, v1.37).
func waits(*plugin.Cycle) func(*plugin.Event) bool {
	return func(e *plugin.Event) bool { return e.Left }
}

func ignored(name string, p *api.Profile) bool {
	if !requests.Extended(name) {
		return false
	}
	group, _, _ := strings.Cut(name, "/")
	return slices.Contains(p.IgnoredResources, name) || slices.Contains(p.IgnoredResourceGroups, group)
}

func explain(c *plugin.Cycle, x *plugin.Explaining) {
	x.Shortages = x.Rules.Fit.Shortages(x.Candidates)
	c.State.Explain(verdict.EntryCost * len(x.Shortages))
}
