package decode

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/encode"
)

const (
	kube137 = "kube-1.37" // the default profile
	// comparedRelease is the release of k8s.io/kubernetes in bench/parity/go.mod.
	comparedRelease = "v1.37.1"
)

// maxPluginWeight bounds a plugin's weight, so that the sum of a node's weighted scores fits an int64.
const maxPluginWeight = 1_000_000

// profile decodes a profile over kube-scheduler's defaults, and checks it as kube-scheduler checks its configuration
// (pkg/scheduler/apis/config/validation/validation_pluginargs.go, v1.37).
func (d *decoder) profile(in *stowagev1.Profile) *api.Profile {
	out := api.Kube137()
	if in == nil {
		return out
	}
	at := path{name: "context.profile"}
	if in.GetName() != "" && in.GetName() != kube137 {
		d.refuse(at.field("name"), unknownValue, "is %s, only %q is known", quote(in.GetName()), kube137)
	}
	d.pluginWeights(&at, in.GetPluginWeights(), &out.Weights)
	out.AddedAffinity = strictSubmessage(d, at.field("added_affinity"), in.GetAddedAffinity(), (*reader).nodeAffinity)
	d.scoringStrategy(&at, in.GetScoringStrategy(), &out.Scoring)
	out.IgnoredResources = d.ignored(&at, "ignored_resources", in.GetIgnoredResources())
	out.IgnoredResourceGroups = d.ignored(&at, "ignored_resource_groups", in.GetIgnoredResourceGroups())
	for i, g := range out.IgnoredResourceGroups {
		if strings.Contains(g, "/") {
			d.refuse(at.item("ignored_resource_groups", i), invalidSyntax, "must not contain a slash")
		}
	}
	if len(in.GetBalancedAllocationResources()) > 0 {
		out.BalancedResources = d.balancedResources(&at, in.GetBalancedAllocationResources())
	}
	out.DisabledFilters = d.disabledFilters(&at, in.GetDisabledFilters())
	out.DisabledPostFilters = d.postFilters(&at, "disabled_post_filters", in.GetDisabledPostFilters())
	out.DisabledGroupPostFilters = d.postFilters(&at, "disabled_pod_group_post_filters", in.GetDisabledPodGroupPostFilters())
	if in.HardPodAffinityWeight != nil {
		out.HardPodAffinityWeight = *in.HardPodAffinityWeight
		d.between(at.field("hard_pod_affinity_weight"), int64(out.HardPodAffinityWeight), 0, 100)
	}
	out.IgnorePreferredTermsOfExistingPods = in.GetIgnorePreferredTermsOfExistingPods()
	d.defaultSpread(&at, in.GetDefaultSpread(), out)
	d.featureGates(&at, in.GetFeatureGates(), out)
	out.SchedulerName = in.GetSchedulerName()
	d.length(at.field("scheduler_name"), out.SchedulerName, MaxNameBytes)
	return out
}

// featureGates are the feature gates that change decisions, by name.
var featureGates = map[string]func(*api.Profile) *bool{
	"TaintTolerationComparisonOperators": func(p *api.Profile) *bool { return &p.TolerationComparisonOperators },
}

func (d *decoder) featureGates(at *path, in []*stowagev1.FeatureGate, out *api.Profile) {
	if !d.within(at, "feature_gates", len(in), MaxWeights) {
		return
	}
	seen := make(map[string]bool, len(in))
	for i, g := range in {
		at := at.item("feature_gates", i)
		d.require(g != nil && g.Enabled != nil, at.field("enabled"))
		name := g.GetName()
		gate := featureGates[name]
		if gate == nil {
			d.refuse(at.field("name"), unknownValue, "is %s, which is not among ProfileInfo.feature_gates", quote(name))
			continue
		}
		if seen[name] {
			d.refuse(at.field("name"), duplicate, "is there already")
		}
		seen[name] = true
		*gate(out) = g.GetEnabled()
	}
}

// balancedResources decodes the resources of NodeResourcesBalancedAllocation.
func (d *decoder) balancedResources(at *path, in []string) []string {
	const field = "balanced_allocation_resources"
	if !d.within(at, field, len(in), MaxWeights) {
		return nil
	}
	for i, name := range in {
		at := at.item(field, i)
		d.resourceName(at, name)
		if slices.Contains(in[:i], name) {
			d.refuse(at, duplicate, "is there already")
		}
	}
	return in
}

// plugins are the plugins by their numbers in the contract.
var plugins = func() map[stowagev1.Plugin]engine.PluginInfo {
	out := make(map[stowagev1.Plugin]engine.PluginInfo)
	for _, p := range engine.Plugins() {
		out[encode.Plugin(p.Name)] = p
	}
	return out
}()

func (d *decoder) disabledFilters(at *path, in []stowagev1.Plugin) (out api.PluginSet) {
	const field = "disabled_filters"
	if !d.within(at, field, len(in), MaxWeights) {
		return 0
	}
	for i, p := range in {
		at := at.item(field, i)
		plugin := plugins[p]
		switch {
		case !plugin.Filters:
			d.refuse(at, unknownValue, "must be a plugin that filters")
		case out.Has(uint8(plugin.Name)):
			d.refuse(at, duplicate, "is there already")
		}
		out.Add(uint8(plugin.Name))
	}
	return out
}

func (d *decoder) postFilters(at *path, field string, in []stowagev1.PostFilter) (out api.PostFilters) {
	if !d.within(at, field, len(in), 2) {
		return out
	}
	for i, p := range in {
		at := at.item(field, i)
		disabled := &out.DynamicResources
		switch p {
		case stowagev1.PostFilter_POST_FILTER_DYNAMIC_RESOURCES:
		case stowagev1.PostFilter_POST_FILTER_DEFAULT_PREEMPTION:
			disabled = &out.DefaultPreemption
		default:
			d.refuse(at, unknownValue, "must be a PostFilter plugin")
			continue
		}
		if *disabled {
			d.refuse(at, duplicate, "is there already")
		}
		*disabled = true
	}
	return out
}

func (d *decoder) pluginWeights(at *path, in []*stowagev1.PluginWeight, out *api.Weights) {
	if !d.within(at, "plugin_weights", len(in), MaxWeights) {
		return
	}
	seen := make(map[stowagev1.Plugin]bool, len(in))
	for i, w := range in {
		at := at.item("plugin_weights", i)
		d.require(w != nil && w.Weight != nil, at.field("weight"))
		d.between(at.field("weight"), int64(w.GetWeight()), 0, maxPluginWeight)
		weight := plugins[w.GetPlugin()].Weight
		if weight == nil {
			d.refuse(at.field("plugin"), unknownValue, "must be a plugin that scores")
			continue
		}
		if seen[w.GetPlugin()] {
			d.refuse(at.field("plugin"), duplicate, "has a weight already")
		}
		seen[w.GetPlugin()] = true
		*weight(out) = int64(w.GetWeight())
	}
}

// ignored checks names of resources or groups of them.
func (d *decoder) ignored(at *path, field string, names []string) []string {
	if !d.within(at, field, len(names), MaxIgnored) {
		return nil
	}
	for i, n := range names {
		d.labelKey(at.item(field, i), n)
	}
	return names
}

// defaultSpread decodes the spread constraints of pods that have none.
func (d *decoder) defaultSpread(parent *path, in *stowagev1.DefaultSpread, out *api.Profile) {
	if in == nil {
		return
	}
	at := parent.field("default_spread")
	const field = "constraints"
	listed, known := enum(&d.problems, &at, "type",
		cmp.Or(in.GetType(), stowagev1.DefaultingType_DEFAULTING_TYPE_SYSTEM), false, true)
	if !known {
		return
	}
	if !listed {
		if len(in.GetConstraints()) > 0 {
			d.refuse(at.field(field), notAllowed, "must be empty with DEFAULTING_TYPE_SYSTEM")
		}
		return
	}
	out.SystemDefaultSpread = false
	if !d.within(&at, field, len(in.GetConstraints()), MaxSpreadConstraints) {
		return
	}
	for i, c := range in.GetConstraints() {
		at := at.item(field, i)
		if c == nil { // an empty message, in a request that was not encoded
			c = new(stowagev1.TopologySpreadConstraint)
		}
		if c.GetLabelSelector() != nil {
			d.refuse(at.field("label_selector"), notAllowed, "must be absent: the workload's selector replaces it")
		}
		constraint := submessage(d, at, c, (*reader).topologySpreadConstraint)
		if constraint == nil {
			continue
		}
		d.labelKey(at.field("topology_key"), constraint.TopologyKey)
		// kube-scheduler merges label keys into a selector that it then replaces by the workload's.
		constraint.MatchLabelKeys = nil
		out.DefaultSpread = append(out.DefaultSpread, *constraint)
	}
	d.uniqueSpread(&at, field, out.DefaultSpread)
}

// ProfileInfo describes the default profile.
func ProfileInfo() *stowagev1.ProfileInfo {
	out := &stowagev1.ProfileInfo{Name: kube137, ComparedRelease: comparedRelease}
	defaults := api.Kube137()
	for _, p := range engine.Plugins() {
		info := &stowagev1.PluginInfo{Plugin: encode.Plugin(p.Name), Filters: p.Filters}
		if p.Weight != nil {
			info.DefaultWeight = new(int32(*p.Weight(&defaults.Weights)))
		}
		out.Plugins = append(out.Plugins, info)
	}
	for _, name := range slices.Sorted(maps.Keys(featureGates)) {
		enabled := *featureGates[name](defaults)
		out.FeatureGates = append(out.FeatureGates, &stowagev1.FeatureGate{Name: name, Enabled: &enabled})
	}
	return out
}
