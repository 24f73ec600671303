package schedulerconfig_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
)

// filters are the plugins that preFilter and filter run by default, in order.
var filters = []string{
	"NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
	"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources",
	"NodeDeclaredFeatures",
}

// order returns the error of an extension point whose plugins run in an order that is not the default one.
func order(point string, got ...string) string {
	var want []string
	for _, p := range filters {
		if slices.Contains(got, p) {
			want = append(want, p)
		}
	}
	return fmt.Sprintf("profiles[0].plugins.%s: Forbidden: the plugins run in the order %s; "+
		"Stowage evaluates them in the default order, %s\n",
		point, strings.Join(got, ", "), strings.Join(want, ", "))
}

// TestMerge holds the merge of plugin sets to kube-scheduler's: mergePluginSet for multiPoint, which merges it into the
// default set, then expandMultiPointPlugins for each extension point, then getScoreWeights.
func TestMerge(t *testing.T) { //nolint:funlen // one table of cases
	nameLast := append(slices.Clone(filters[1:]), "NodeName")
	testAccepted(t, schedulerconfig.Options{}, []accepted{
		{"multiPoint: a default plugin that is enabled again keeps its place", `
plugins: {multiPoint: {enabled: [{name: NodePorts}, {name: NodeName}, {name: ImageLocality, weight: 5}, {name: TaintToleration, weight: 4}]}}`, `
pluginWeights: [{plugin: PLUGIN_TAINT_TOLERATION, weight: 4}, {plugin: PLUGIN_IMAGE_LOCALITY, weight: 5}]`},
		{"multiPoint: a plugin that is disabled and enabled comes last, where NodeDeclaredFeatures is anyway", `
plugins: {multiPoint: {disabled: [{name: NodeDeclaredFeatures}], enabled: [{name: NodeDeclaredFeatures}]}}`, `{}`},
		{"multiPoint: * beside a name disables all defaults", `
plugins:
  multiPoint:
    disabled: [{name: NodeName}, {name: "*"}]
    enabled: [{name: PrioritySort}, {name: SchedulingGates}, {name: NodeName}, {name: NodeResourcesFit, weight: 9}, {name: DefaultBinder}]`, `
disabledPostFilters: [POST_FILTER_DYNAMIC_RESOURCES, POST_FILTER_DEFAULT_PREEMPTION]
disabledPodGroupPostFilters: [POST_FILTER_DYNAMIC_RESOURCES, POST_FILTER_DEFAULT_PREEMPTION]
disabledFilters:
- PLUGIN_NODE_UNSCHEDULABLE
- PLUGIN_TAINT_TOLERATION
- PLUGIN_NODE_AFFINITY
- PLUGIN_NODE_PORTS
- PLUGIN_VOLUME_RESTRICTIONS
- PLUGIN_NODE_VOLUME_LIMITS
- PLUGIN_VOLUME_BINDING
- PLUGIN_VOLUME_ZONE
- PLUGIN_POD_TOPOLOGY_SPREAD
- PLUGIN_INTER_POD_AFFINITY
- PLUGIN_DYNAMIC_RESOURCES
- PLUGIN_NODE_DECLARED_FEATURES
pluginWeights:
- {plugin: PLUGIN_TAINT_TOLERATION, weight: 0}
- {plugin: PLUGIN_NODE_AFFINITY, weight: 0}
- {plugin: PLUGIN_NODE_RESOURCES_FIT, weight: 9}
- {plugin: PLUGIN_VOLUME_BINDING, weight: 0}
- {plugin: PLUGIN_POD_TOPOLOGY_SPREAD, weight: 0}
- {plugin: PLUGIN_INTER_POD_AFFINITY, weight: 0}
- {plugin: PLUGIN_DYNAMIC_RESOURCES, weight: 0}
- {plugin: PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION, weight: 0}
- {plugin: PLUGIN_IMAGE_LOCALITY, weight: 0}`},
		{"multiPoint: a plugin of a feature gate follows", `
plugins: {multiPoint: {enabled: [{name: GangScheduling}]}}`, `{}`},
		{"a point: its own plugins run first, in its order", `
plugins: {filter: {enabled: [{name: NodeName}, {name: NodeUnschedulable}]}}`, `{}`},
		{"a point: a plugin that it disables and enables comes last", `
plugins: {filter: {disabled: [{name: NodeDeclaredFeatures}], enabled: [{name: NodeDeclaredFeatures}]}}`, `{}`},
		{"a point: a plugin that multiPoint disables comes last", `
plugins:
  multiPoint: {disabled: [{name: NodeDeclaredFeatures}]}
  preFilter: {enabled: [{name: NodeDeclaredFeatures}]}
  filter: {enabled: [{name: NodeDeclaredFeatures}]}`, `{}`},
		{"a point: * leaves what it enables itself, and of multiPoint nothing", `
plugins:
  multiPoint: {enabled: [{name: NodePorts}]}
  preFilter: {disabled: [{name: "*"}], enabled: [{name: NodeName}, {name: NodeResourcesFit}]}
  filter: {disabled: [{name: "*"}], enabled: [{name: NodeName}, {name: NodeResourcesFit}]}
  score: {disabled: [{name: DynamicResources}]}
  reserve: {disabled: [{name: "*"}]}
  preBind: {disabled: [{name: "*"}]}`, `
pluginWeights: [{plugin: PLUGIN_DYNAMIC_RESOURCES, weight: 0}]
disabledFilters:
- PLUGIN_NODE_UNSCHEDULABLE
- PLUGIN_TAINT_TOLERATION
- PLUGIN_NODE_AFFINITY
- PLUGIN_NODE_PORTS
- PLUGIN_VOLUME_RESTRICTIONS
- PLUGIN_NODE_VOLUME_LIMITS
- PLUGIN_VOLUME_BINDING
- PLUGIN_VOLUME_ZONE
- PLUGIN_POD_TOPOLOGY_SPREAD
- PLUGIN_INTER_POD_AFFINITY
- PLUGIN_DYNAMIC_RESOURCES
- PLUGIN_NODE_DECLARED_FEATURES`},
		{"weights: score without a weight wins over multiPoint with one", `
plugins:
  multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}
  score: {enabled: [{name: NodeAffinity}]}`, `
pluginWeights: [{plugin: PLUGIN_NODE_AFFINITY, weight: 1}]`},
		{"weights: a weight in multiPoint does not enable a plugin that score disables", `
plugins:
  multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}
  score: {disabled: [{name: NodeAffinity}]}`, `
pluginWeights: [{plugin: PLUGIN_NODE_AFFINITY, weight: 0}]`},
		{"weights: * at score keeps the plugins of score", `
plugins:
  multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}
  score:
    disabled: [{name: "*"}]
    enabled:
    - {name: NodeAffinity, weight: 8}
    - {name: PodTopologySpread, weight: 2}`, `
pluginWeights:
- {plugin: PLUGIN_TAINT_TOLERATION, weight: 0}
- {plugin: PLUGIN_NODE_AFFINITY, weight: 8}
- {plugin: PLUGIN_NODE_RESOURCES_FIT, weight: 0}
- {plugin: PLUGIN_VOLUME_BINDING, weight: 0}
- {plugin: PLUGIN_INTER_POD_AFFINITY, weight: 0}
- {plugin: PLUGIN_DYNAMIC_RESOURCES, weight: 0}
- {plugin: PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION, weight: 0}
- {plugin: PLUGIN_IMAGE_LOCALITY, weight: 0}`},
	})
	testRefused(t, []refused{
		{"multiPoint: a plugin that is disabled and enabled comes last", `
plugins: {multiPoint: {disabled: [{name: NodeName}], enabled: [{name: NodeName}]}}`,
			order("preFilter", nameLast...) + order("filter", nameLast...)},
		{"multiPoint: without defaults, its own order", `
plugins:
  multiPoint:
    disabled: [{name: "*"}]
    enabled: [{name: PrioritySort}, {name: NodePorts}, {name: NodeName}, {name: DefaultBinder}]`,
			order("preFilter", "NodePorts", "NodeName") + order("filter", "NodePorts", "NodeName")},
		{"a point: its own plugins run first", `
plugins: {filter: {enabled: [{name: NodeUnschedulable}, {name: NodeName}]}}`,
			order("filter", slices.Concat([]string{"NodeUnschedulable", "NodeName"}, filters[2:])...)},
		{"a point: a plugin that it disables and enables comes last", `
plugins: {filter: {disabled: [{name: NodeName}], enabled: [{name: NodeName}]}}`,
			order("filter", nameLast...)},
		{"a point: a plugin that multiPoint disables comes last", `
plugins:
  multiPoint: {disabled: [{name: NodeName}]}
  preFilter: {enabled: [{name: NodeName}]}
  filter: {enabled: [{name: NodeName}]}`,
			order("preFilter", nameLast...) + order("filter", nameLast...)},
		{"* is no plugin to enable", `
plugins: {multiPoint: {enabled: [{name: "*"}]}}`, `
profiles[0].plugins.multiPoint.enabled[0].name: Invalid value: "*": is not a plugin of kube-scheduler v1.37`},
		{"twice by multiPoint", `
plugins: {multiPoint: {enabled: [{name: NodeName}, {name: NodeName}]}}`, `
profiles[0].plugins.multiPoint.enabled[1].name: Duplicate value: "NodeName"`},
		{"* at preScore alone", `
plugins: {preScore: {disabled: [{name: "*"}]}, score: {disabled: [{name: "*"}], enabled: [{name: PodTopologySpread}]}}`, `
profiles[0].plugins.preScore: Forbidden: PodTopologySpread cannot score if its preScore is disabled`},
	})
}
