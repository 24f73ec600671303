package schedulerconfig

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// points are extension points, by their names in a configuration.
type points struct {
	preEnqueue, preFilter, filter, postFilter, preScore, score, reserve, preBind, podGroupPostFilter bool
}

// filters reports whether a plugin rejects nodes, or pods before any node is filtered. DefaultPreemption's PreEnqueue does not count:
// it only holds a pod back during the eviction of its victims (plugins/defaultpreemption/default_preemption.go PreEnqueue).
func (p points) filters() bool { return p.filter || p.preEnqueue && !p.postFilter }

// plugin is a plugin of kube-scheduler v1.37.
type plugin struct {
	name string
	// id is UNSPECIFIED if Stowage does not evaluate the plugin.
	id stowagev1.Plugin
	// at are the extension points that Stowage evaluates.
	at points
	// weight is the default weight of a scoring plugin.
	weight int32
	// restricts: the plugin rejects nodes in PreFilter, even if Filter is disabled.
	restricts bool
	// optional: a feature gate that is off by default adds the plugin to the default set.
	optional bool
}

var (
	gate       = points{preEnqueue: true}
	filter     = points{preFilter: true, filter: true}
	both       = points{preFilter: true, filter: true, preScore: true, score: true}
	preemption = points{preEnqueue: true, postFilter: true, podGroupPostFilter: true}
	volumes    = points{preFilter: true, filter: true, preScore: true, score: true, reserve: true, preBind: true}
	claims     = points{preFilter: true, filter: true, postFilter: true, score: true, reserve: true, preBind: true, podGroupPostFilter: true}
	scoring    = points{preScore: true, score: true}
	scoreOnly  = points{score: true}
)

// plugins are kube-scheduler's plugins in the default order (pkg/scheduler/apis/config/v1/default_plugins.go getDefaultPlugins).
var plugins = []plugin{
	{name: "SchedulingGates", id: stowagev1.Plugin_PLUGIN_SCHEDULING_GATES, at: gate},
	{name: "PrioritySort"},
	{name: "NodeName", id: stowagev1.Plugin_PLUGIN_NODE_NAME, at: filter, restricts: true},
	{name: "NodeUnschedulable", id: stowagev1.Plugin_PLUGIN_NODE_UNSCHEDULABLE, at: filter},
	{name: "TaintToleration", id: stowagev1.Plugin_PLUGIN_TAINT_TOLERATION, at: both, weight: 3},
	{name: "NodeAffinity", id: stowagev1.Plugin_PLUGIN_NODE_AFFINITY, at: both, weight: 2, restricts: true},
	{name: "NodePorts", id: stowagev1.Plugin_PLUGIN_NODE_PORTS, at: filter},
	{name: "DeferredPodScheduling", optional: true},
	{name: "NodeResourcesFit", id: stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT, at: both, weight: 1},
	{name: "VolumeRestrictions", id: stowagev1.Plugin_PLUGIN_VOLUME_RESTRICTIONS, at: filter, restricts: true},
	{name: "NodeVolumeLimits", id: stowagev1.Plugin_PLUGIN_NODE_VOLUME_LIMITS, at: filter},
	{name: "VolumeBinding", id: stowagev1.Plugin_PLUGIN_VOLUME_BINDING, at: volumes, weight: 1, restricts: true},
	{name: "VolumeZone", id: stowagev1.Plugin_PLUGIN_VOLUME_ZONE, at: filter, restricts: true},
	{name: "PodTopologySpread", id: stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD, at: both, weight: 2},
	{name: "InterPodAffinity", id: stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY, at: both, weight: 2},
	{name: "DynamicResources", id: stowagev1.Plugin_PLUGIN_DYNAMIC_RESOURCES, at: claims, weight: 2, restricts: true},
	{name: "DefaultPreemption", id: stowagev1.Plugin_PLUGIN_DEFAULT_PREEMPTION, at: preemption},
	{name: "NodeResourcesBalancedAllocation", id: stowagev1.Plugin_PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION, at: scoring, weight: 1},
	{name: "ImageLocality", id: stowagev1.Plugin_PLUGIN_IMAGE_LOCALITY, at: scoreOnly, weight: 1},
	{name: "DefaultBinder"},
	{name: "NodeDeclaredFeatures", id: stowagev1.Plugin_PLUGIN_NODE_DECLARED_FEATURES, at: filter},
	{name: "GangScheduling", optional: true},
	{name: "TopologyPlacementGenerator", id: stowagev1.Plugin_PLUGIN_TOPOLOGY_PLACEMENT_GENERATOR, optional: true},
	{name: "PodGroupPodsCount", optional: true},
}

func named(name string) (plugin, bool) {
	i := slices.IndexFunc(plugins, func(p plugin) bool { return p.name == name })
	if i < 0 {
		return plugin{}, false
	}
	return plugins[i], true
}

// maximumWeight is the contract's limit.
const maximumWeight = 1_000_000

// plugins sets the weights of a profile's plugins, and disables its disabled plugins.
func (r *reader) plugins(custom *configv1.Plugins, path *field.Path) {
	if custom == nil {
		custom = &configv1.Plugins{}
	}
	r.known(custom, path)
	multi := r.merged(custom.MultiPoint)
	running := func(name string, set configv1.PluginSet, has func(points) bool) []configv1.Plugin {
		return r.expanded(set, multi, path.Child(name), has)
	}
	preEnqueue := running("preEnqueue", custom.PreEnqueue, func(p points) bool { return p.preEnqueue })
	preFilters := running("preFilter", custom.PreFilter, func(p points) bool { return p.preFilter })
	filters := running("filter", custom.Filter, func(p points) bool { return p.filter })
	postFilters := running("postFilter", custom.PostFilter, func(p points) bool { return p.postFilter })
	preScores := running("preScore", custom.PreScore, func(p points) bool { return p.preScore })
	scores := running("score", custom.Score, func(p points) bool { return p.score })
	reserves := running("reserve", custom.Reserve, func(p points) bool { return p.reserve })
	preBinds := running("preBind", custom.PreBind, func(p points) bool { return p.preBind })
	groupPostFilters := running("podGroupPostFilter", custom.PodGroupPostFilter, func(p points) bool { return p.podGroupPostFilter })
	r.ordered(preFilters, path.Child("preFilter"))
	r.ordered(filters, path.Child("filter"))
	r.ordered(postFilters, path.Child("postFilter"))
	r.ordered(groupPostFilters, path.Child("podGroupPostFilter"))
	r.profile.DisabledPostFilters = disabled(postFilters)
	r.profile.DisabledPodGroupPostFilters = disabled(groupPostFilters)
	for _, p := range plugins {
		if p.id == stowagev1.Plugin_PLUGIN_UNSPECIFIED || r.inExtender(p.name) {
			continue
		}
		filtering, scoring := has(filters, p.name) || has(preEnqueue, p.name), has(scores, p.name)
		switch {
		case p.at.filter && filtering && !has(preFilters, p.name):
			r.refuse(path.Child("preFilter"), "%s cannot filter if its preFilter is disabled", p.name)
		case p.restricts && !filtering && has(preFilters, p.name):
			r.refuse(path.Child("filter"), "%s rejects nodes in preFilter: disable both", p.name)
		case p.at.reserve && !has(preFilters, p.name) && (has(reserves, p.name) || has(preBinds, p.name)):
			r.refuse(path.Child("preFilter"), "%s binds no pod if its preFilter is disabled: disable it in multiPoint", p.name)
		case p.at.preFilter && !p.at.preScore && scoring && !has(preFilters, p.name):
			r.refuse(path.Child("preFilter"), "%s cannot score if its preFilter is disabled", p.name)
		case p.at.preScore && scoring && !has(preScores, p.name):
			r.refuse(path.Child("preScore"), "%s cannot score if its preScore is disabled", p.name)
		}
		if p.at.filters() && !filtering {
			r.profile.DisabledFilters = append(r.profile.DisabledFilters, p.id)
		}
		weight := int32(0)
		if scoring {
			weight = r.weightOf(p, custom, multi, path)
		}
		if p.at.score && weight != p.weight {
			r.profile.PluginWeights = append(r.profile.PluginWeights, &stowagev1.PluginWeight{Plugin: p.id, Weight: &weight})
		}
	}
}

// disabled returns the PostFilter plugins that do not run.
func disabled(running []configv1.Plugin) (out []stowagev1.PostFilter) {
	for _, p := range []struct {
		name   string
		plugin stowagev1.PostFilter
	}{
		{"DynamicResources", stowagev1.PostFilter_POST_FILTER_DYNAMIC_RESOURCES},
		{"DefaultPreemption", stowagev1.PostFilter_POST_FILTER_DEFAULT_PREEMPTION},
	} {
		if !has(running, p.name) {
			out = append(out, p.plugin)
		}
	}
	return out
}

func (r *reader) refuse(path *field.Path, format string, args ...any) {
	r.errs = append(r.errs, field.Forbidden(path, fmt.Sprintf(format, args...)))
}

func (r *reader) inExtender(name string) bool {
	return r.options.Extender != nil && slices.Contains(r.options.Extender.Plugins, name)
}

func has(set []configv1.Plugin, name string) bool {
	return slices.ContainsFunc(set, func(p configv1.Plugin) bool { return p.Name == name })
}

// sets are the plugin sets of a profile by the names of their extension points, in the order of the API.
func sets(p *configv1.Plugins) []struct {
	name string
	set  configv1.PluginSet
} {
	return []struct {
		name string
		set  configv1.PluginSet
	}{
		{"preEnqueue", p.PreEnqueue},
		{"queueSort", p.QueueSort},
		{"preFilter", p.PreFilter},
		{"filter", p.Filter},
		{"postFilter", p.PostFilter},
		{"preScore", p.PreScore},
		{"score", p.Score},
		{"reserve", p.Reserve},
		{"permit", p.Permit},
		{"preBind", p.PreBind},
		{"bind", p.Bind},
		{"postBind", p.PostBind},
		{"multiPoint", p.MultiPoint},
		{"placementGenerate", p.PlacementGenerate},
		{"placementScore", p.PlacementScore},
		{"podGroupPostFilter", p.PodGroupPostFilter},
	}
}

// known refuses enabled plugins that kube-scheduler does not have, and plugins that are enabled twice.
func (r *reader) known(p *configv1.Plugins, path *field.Path) {
	for _, s := range sets(p) {
		seen := map[string]bool{}
		for i, e := range s.set.Enabled {
			at := path.Child(s.name, "enabled").Index(i)
			if _, ok := named(e.Name); !ok {
				r.errs = append(r.errs, field.Invalid(at.Child("name"), e.Name, "is not a plugin of kube-scheduler v1.37"))
			}
			if seen[e.Name] {
				r.errs = append(r.errs, field.Duplicate(at.Child("name"), e.Name))
			}
			seen[e.Name] = true
		}
	}
}

// merged merges a multiPoint set into the default set (default_plugins.go mergePluginSet): a default plugin that is enabled again
// keeps its place and gets the new weight; other plugins follow.
func (r *reader) merged(custom configv1.PluginSet) []configv1.Plugin {
	var out []configv1.Plugin
	for _, p := range plugins {
		if p.optional || has(custom.Disabled, p.name) || has(custom.Disabled, "*") {
			continue
		}
		this := configv1.Plugin{Name: p.name}
		if p.weight > 0 {
			this.Weight = &p.weight
		}
		if i := slices.IndexFunc(custom.Enabled, func(e configv1.Plugin) bool { return e.Name == p.name }); i >= 0 {
			this = custom.Enabled[i]
		}
		out = append(out, this)
	}
	for _, e := range custom.Enabled {
		if !has(out, e.Name) {
			out = append(out, e)
		}
	}
	return out
}

// expanded returns the plugins that run at an extension point, in order: plugins that both the point and multiPoint enable, the other
// plugins of multiPoint, the other plugins of the point (framework.go expandMultiPointPlugins). Plugins that Stowage does not
// evaluate are left out.
func (r *reader) expanded(set configv1.PluginSet, multi []configv1.Plugin, path *field.Path, implements func(points) bool) []configv1.Plugin {
	var own, overriding, inherited []configv1.Plugin
	for i, e := range set.Enabled {
		p, ok := named(e.Name)
		switch {
		case !ok || p.id == stowagev1.Plugin_PLUGIN_UNSPECIFIED && !implements(p.at):
			continue
		case !implements(p.at):
			r.errs = append(r.errs, field.Invalid(path.Child("enabled").Index(i).Child("name"), e.Name, "does not have this extension point"))
			continue
		}
		own = append(own, e)
	}
	if has(set.Disabled, "*") {
		return own
	}
	for _, m := range multi {
		p, ok := named(m.Name)
		if ok && implements(p.at) && !has(set.Disabled, m.Name) && !has(own, m.Name) {
			inherited = append(inherited, m)
		}
	}
	var others []configv1.Plugin
	for _, e := range own {
		if has(multi, e.Name) && !has(set.Disabled, e.Name) {
			overriding = append(overriding, e)
		} else {
			others = append(others, e)
		}
	}
	return slices.Concat(overriding, inherited, others)
}

// ordered refuses plugins in another order than the default.
func (r *reader) ordered(set []configv1.Plugin, path *field.Path) {
	var names, want []string
	for _, p := range set {
		names = append(names, p.Name)
	}
	for _, p := range plugins {
		if slices.Contains(names, p.name) {
			want = append(want, p.name)
		}
	}
	if !slices.Equal(names, want) {
		r.refuse(path, "the plugins run in the order %s; Stowage evaluates them in the default order, %s",
			strings.Join(names, ", "), strings.Join(want, ", "))
	}
}

// weightOf is the weight of a scoring plugin: from score, else from multiPoint, else 1 (framework.go getValidScoreWeights).
func (r *reader) weightOf(p plugin, custom *configv1.Plugins, multi []configv1.Plugin, path *field.Path) int32 {
	is := func(e configv1.Plugin) bool { return e.Name == p.name }
	var entry configv1.Plugin
	at := path
	if i := slices.IndexFunc(custom.Score.Enabled, is); i >= 0 {
		entry, at = custom.Score.Enabled[i], path.Child("score", "enabled").Index(i).Child("weight")
	} else {
		entry = multi[slices.IndexFunc(multi, is)]
		if i := slices.IndexFunc(custom.MultiPoint.Enabled, is); i >= 0 {
			at = path.Child("multiPoint", "enabled").Index(i).Child("weight")
		}
	}
	weight := int32(1)
	if entry.Weight != nil && *entry.Weight != 0 {
		weight = *entry.Weight
	}
	if e := r.options.Extender; e != nil && e.WeightFactor > 1 {
		if weight%e.WeightFactor != 0 {
			r.errs = append(r.errs, field.Invalid(at, weight, fmt.Sprintf("%s: must be a multiple of %d for exact scores", p.name, e.WeightFactor)))
		}
		weight /= e.WeightFactor
	}
	if weight < 0 || weight > maximumWeight {
		r.errs = append(r.errs, field.Invalid(at, weight, fmt.Sprintf("must be in [0, %d]", maximumWeight)))
	}
	return weight
}
