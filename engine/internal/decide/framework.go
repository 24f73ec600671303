// Package decide runs kube-scheduler's scheduling cycle for one pod: it filters and scores the nodes, and explains the
// outcome.
package decide

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Framework is a profile with its enabled plugins, in the order in which they run.
type Framework struct {
	profile *api.Profile
	// Filters are the plugins that decide whether a node is feasible.
	Filters []*plugin.Plugin
	// Scorers are the plugins that score feasible nodes.
	Scorers []*plugin.Plugin

	all []*plugin.Plugin
}

// NewFramework returns the framework of a profile. plugins are all plugins, in the order in which they run.
func NewFramework(profile *api.Profile, plugins []*plugin.Plugin) *Framework {
	f := &Framework{
		profile: profile, all: plugins,
		Filters: make([]*plugin.Plugin, 0, len(plugins)), Scorers: make([]*plugin.Plugin, 0, len(plugins)),
	}
	for _, p := range plugins {
		if !profile.DisabledFilters.Has(uint8(p.Name)) {
			f.Filters = append(f.Filters, p)
		}
		if p.Score != nil && *p.Weight(&profile.Weights) != 0 {
			f.Scorers = append(f.Scorers, p)
		}
	}
	return f
}

// Configured returns the profile. It must not be changed.
func (f *Framework) Configured() *api.Profile { return f.profile }

// Weights returns the weights of the scorers.
func (f *Framework) Weights() *api.Weights { return &f.profile.Weights }

// DisabledPostFilters returns the PostFilter plugins that do not run.
func (f *Framework) DisabledPostFilters() api.PostFilters { return f.profile.DisabledPostFilters }

// DisabledGroupPostFilters returns the PodGroupPostFilter plugins that do not run.
func (f *Framework) DisabledGroupPostFilters() api.PostFilters {
	return f.profile.DisabledGroupPostFilters
}

// SortRejections sorts rejections by plugin, and the rejections of a plugin by their first node.
func (f *Framework) SortRejections(rejections []verdict.Rejection) {
	order := func(r *verdict.Rejection) int {
		return slices.IndexFunc(f.all, func(p *plugin.Plugin) bool { return p.Name == r.Plugin })
	}
	slices.SortStableFunc(rejections, func(a, b verdict.Rejection) int {
		return cmp.Or(cmp.Compare(order(&a), order(&b)), cmp.Compare(a.Nodes[0], b.Nodes[0]))
	})
}

// Labels returns the keys of pod labels that rules read directly, without a selector.
func (f *Framework) Labels() []string {
	var keys []string
	for _, p := range f.Filters {
		keys = append(keys, p.Labels...)
	}
	return keys
}

// FollowsOwnRules reports whether a plugin's scores follow from rules of the pod, not from the utilization of nodes.
func (f *Framework) FollowsOwnRules(name verdict.Plugin) bool {
	return slices.ContainsFunc(f.Scorers, func(p *plugin.Plugin) bool { return p.Name == name && p.OwnRules })
}
