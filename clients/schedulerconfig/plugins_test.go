package schedulerconfig_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestWeights(t *testing.T) {
	testAccepted(t, schedulerconfig.Options{}, []accepted{
		{"score gives a weight", `
plugins: {score: {enabled: [{name: NodeAffinity, weight: 7}]}}`, `
pluginWeights: [{plugin: PLUGIN_NODE_AFFINITY, weight: 7}]`},
		{"multiPoint gives a weight", `
plugins: {multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}}`, `
pluginWeights: [{plugin: PLUGIN_NODE_AFFINITY, weight: 7}]`},
		{"score before multiPoint", `
plugins:
  multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}
  score: {enabled: [{name: NodeAffinity, weight: 8}]}`, `
pluginWeights: [{plugin: PLUGIN_NODE_AFFINITY, weight: 8}]`},
		{"enabled without a weight, it is 1 and not the default", `
plugins:
  multiPoint: {enabled: [{name: TaintToleration}]}
  score: {enabled: [{name: InterPodAffinity}, {name: PodTopologySpread, weight: 0}]}`, `
pluginWeights:
- {plugin: PLUGIN_TAINT_TOLERATION, weight: 1}
- {plugin: PLUGIN_POD_TOPOLOGY_SPREAD, weight: 1}
- {plugin: PLUGIN_INTER_POD_AFFINITY, weight: 1}`},
		{"the default weight", `
plugins: {score: {enabled: [{name: TaintToleration, weight: 3}]}}`, `{}`},
		{"all disabled, and enabled again in another order", `
plugins:
  score:
    disabled: [{name: "*"}]
    enabled:
    - {name: ImageLocality, weight: 1}
    - {name: NodeResourcesBalancedAllocation, weight: 4}
    - {name: InterPodAffinity, weight: 2}
    - {name: DynamicResources, weight: 2}
    - {name: PodTopologySpread, weight: 2}
    - {name: NodeResourcesFit, weight: 1}
    - {name: NodeAffinity, weight: 2}
    - {name: VolumeBinding}
    - {name: TaintToleration, weight: 3}`, `
pluginWeights: [{plugin: PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION, weight: 4}]`},
		{"disabled and enabled at the same point: enabled", `
plugins: {score: {disabled: [{name: NodeAffinity}], enabled: [{name: NodeAffinity, weight: 9}]}}`, `
pluginWeights: [{plugin: PLUGIN_NODE_AFFINITY, weight: 9}]`},
		{"disabled by multiPoint and enabled by it: enabled, with that weight", `
plugins: {multiPoint: {disabled: [{name: ImageLocality}], enabled: [{name: ImageLocality, weight: 5}]}}`, `
pluginWeights: [{plugin: PLUGIN_IMAGE_LOCALITY, weight: 5}]`},
		{"disabled by multiPoint and enabled by score", `
plugins: {multiPoint: {disabled: [{name: ImageLocality}]}, score: {enabled: [{name: ImageLocality}]}}`, `{}`},
	})
	testRefused(t, []refused{
		{"negative", `
plugins: {score: {enabled: [{name: ImageLocality, weight: -1}]}}`, `
profiles[0].plugins.score.enabled[0].weight: Invalid value: -1: must be in [0, 1000000]`},
		{"too large", `
plugins: {multiPoint: {enabled: [{name: ImageLocality, weight: 1000001}]}}`, `
profiles[0].plugins.multiPoint.enabled[0].weight: Invalid value: 1000001: must be in [0, 1000000]`},
	})
}

// Plugins that Stowage does not evaluate may be disabled: what they read of a pod is listed in responses anyway.
func TestPluginsThatStowageDoesNotEvaluate(t *testing.T) {
	testAccepted(t, schedulerconfig.Options{}, []accepted{
		{"disabled", `
plugins:
  multiPoint: {disabled: [{name: GangScheduling}]}
  reserve: {disabled: [{name: VolumeBinding}]}`, `{}`},
		{"enabled", `
plugins:
  multiPoint: {enabled: [{name: GangScheduling}]}
  queueSort: {enabled: [{name: PrioritySort}]}
  bind: {enabled: [{name: DefaultBinder}]}`, `{}`},
		{"a disabled name that is no plugin", `
plugins: {multiPoint: {disabled: [{name: Mine}]}}`, `{}`},
		{"arguments of other plugins", `
pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 5}}, {name: Mine, args: {a: 5}}]`, `{}`},
	})
}

func TestPreemption(t *testing.T) {
	for _, c := range []struct {
		plugins string
		none    bool
	}{
		{`{}`, false},
		{`{postFilter: {disabled: [{name: DefaultPreemption}]}}`, true},
		{`{postFilter: {disabled: [{name: "*"}]}}`, true},
		{`{multiPoint: {disabled: [{name: DefaultPreemption}]}}`, true},
		{`{multiPoint: {disabled: [{name: "*"}], enabled: [{name: NodeName}]}}`, true},
		{`{multiPoint: {disabled: [{name: "*"}], enabled: [{name: NodeName}, {name: DefaultPreemption}]}}`, false},
		{`{multiPoint: {disabled: [{name: DefaultPreemption}]}, postFilter: {enabled: [{name: DefaultPreemption}]}}`, false},
		{`{postFilter: {disabled: [{name: "*"}], enabled: [{name: DefaultPreemption}]}}`, false},
		{`{postFilter: {disabled: [{name: "*"}], enabled: [{name: DynamicResources}]}}`, true},
		{`{postFilter: {disabled: [{name: DynamicResources}]}}`, false},
		{`{filter: {disabled: [{name: NodeVolumeLimits}]}}`, false},
	} {
		got, err := schedulerconfig.Read([]byte(indented("plugins: "+c.plugins)), schedulerconfig.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.plugins, err)
		} else if got.NoPreemption() != c.none {
			t.Errorf("%s: no preemption: %v", c.plugins, got.NoPreemption())
		}
	}
}

func TestPostFilters(t *testing.T) {
	claims, preempts := stowagev1.PostFilter_POST_FILTER_DYNAMIC_RESOURCES, stowagev1.PostFilter_POST_FILTER_DEFAULT_PREEMPTION
	for _, c := range []struct {
		plugins      string
		pods, groups []stowagev1.PostFilter
	}{
		{`{postFilter: {disabled: [{name: DefaultPreemption}]}}`, []stowagev1.PostFilter{preempts}, nil},
		{`{podGroupPostFilter: {disabled: [{name: DefaultPreemption}]}}`, nil, []stowagev1.PostFilter{preempts}},
		{`{postFilter: {disabled: [{name: "*"}]}}`, []stowagev1.PostFilter{claims, preempts}, nil},
		{`{postFilter: {disabled: [{name: DynamicResources}]}, podGroupPostFilter: {disabled: [{name: DynamicResources}]}}`,
			[]stowagev1.PostFilter{claims}, []stowagev1.PostFilter{claims}},
	} {
		got, err := schedulerconfig.Read([]byte(indented("plugins: "+c.plugins)), schedulerconfig.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.plugins, err)
			continue
		}
		want := &stowagev1.Profile{DisabledPostFilters: c.pods, DisabledPodGroupPostFilters: c.groups}
		if d := cmp.Diff(want, got.Profile, protocmp.Transform()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.plugins, d)
		}
	}
}

func TestPluginsThatAreRefused(t *testing.T) {
	testRefused(t, []refused{
		{"not of kube-scheduler, at every extension point", `
plugins:
  preEnqueue: {enabled: [{name: A}]}
  queueSort: {enabled: [{name: B}]}
  permit: {enabled: [{name: PrioritySort}, {name: C}]}
  multiPoint: {enabled: [{name: D}]}`, `
profiles[0].plugins.preEnqueue.enabled[0].name: Invalid value: "A": is not a plugin of kube-scheduler v1.37
profiles[0].plugins.queueSort.enabled[0].name: Invalid value: "B": is not a plugin of kube-scheduler v1.37
profiles[0].plugins.permit.enabled[1].name: Invalid value: "C": is not a plugin of kube-scheduler v1.37
profiles[0].plugins.multiPoint.enabled[0].name: Invalid value: "D": is not a plugin of kube-scheduler v1.37`},
		{"twice", `
plugins: {score: {enabled: [{name: ImageLocality}, {name: ImageLocality}]}}`, `
profiles[0].plugins.score.enabled[1].name: Duplicate value: "ImageLocality"`},
		{"at a point that the plugin does not have", `
plugins: {filter: {enabled: [{name: ImageLocality}]}}`, `
profiles[0].plugins.filter.enabled[0].name: Invalid value: "ImageLocality": does not have this extension point`},
		{"at postFilter", `
plugins: {postFilter: {enabled: [{name: NodeName}]}}`, `
profiles[0].plugins.postFilter.enabled[0].name: Invalid value: "NodeName": does not have this extension point`},
		{"another order of filters", `
plugins:
  filter:
    disabled: [{name: "*"}]
    enabled:
    - {name: NodeUnschedulable}
    - {name: NodeName}
    - {name: TaintToleration}
    - {name: NodeAffinity}
    - {name: NodePorts}
    - {name: NodeResourcesFit}
    - {name: VolumeRestrictions}
    - {name: VolumeBinding}
    - {name: VolumeZone}
    - {name: PodTopologySpread}
    - {name: InterPodAffinity}
    - {name: DynamicResources}`, `
profiles[0].plugins.filter: Forbidden: the plugins run in the order NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, ` +
			`NodeResourcesFit, VolumeRestrictions, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity, DynamicResources; ` +
			`Stowage evaluates them in the default order, NodeName, NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts, ` +
			`NodeResourcesFit, VolumeRestrictions, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity, DynamicResources`},
		{"enabling a filter puts it first", `
plugins: {preFilter: {enabled: [{name: NodeResourcesFit}]}}`, `
profiles[0].plugins.preFilter: Forbidden: the plugins run in the order NodeResourcesFit, NodeName, NodeUnschedulable, TaintToleration, NodeAffinity, ` +
			`NodePorts, VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity, DynamicResources, NodeDeclaredFeatures; Stowage evaluates them in the default order, NodeName, NodeUnschedulable, ` +
			`TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit, VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity, DynamicResources, NodeDeclaredFeatures`},
		{"filter without preFilter", `
plugins: {preFilter: {disabled: [{name: PodTopologySpread}]}}`, `
profiles[0].plugins.preFilter: Forbidden: PodTopologySpread cannot filter if its preFilter is disabled`},
		{"score without preScore", `
plugins: {preScore: {disabled: [{name: PodTopologySpread}]}}`, `
profiles[0].plugins.preScore: Forbidden: PodTopologySpread cannot score if its preScore is disabled`},
		{"score without preFilter", `
plugins:
  multiPoint: {disabled: [{name: DynamicResources}]}
  score: {enabled: [{name: DynamicResources}]}`, `
profiles[0].plugins.preFilter: Forbidden: DynamicResources cannot score if its preFilter is disabled`},
		{"filter alone, of a plugin that rejects nodes before", `
plugins: {filter: {disabled: [{name: DynamicResources}]}}`, `
profiles[0].plugins.filter: Forbidden: DynamicResources rejects nodes in preFilter: disable both`},
		{"reserve without preFilter", `
plugins:
  preFilter: {disabled: [{name: DynamicResources}]}
  filter: {disabled: [{name: DynamicResources}]}
  score: {disabled: [{name: DynamicResources}]}`, `
profiles[0].plugins.preFilter: Forbidden: DynamicResources binds no pod if its preFilter is disabled: disable it in multiPoint`},
		{"preBind without preFilter", `
plugins:
  multiPoint: {disabled: [{name: VolumeBinding}]}
  preBind: {enabled: [{name: VolumeBinding}]}`, `
profiles[0].plugins.preFilter: Forbidden: VolumeBinding binds no pod if its preFilter is disabled: disable it in multiPoint`},
	})
}

func TestDisabledPlugins(t *testing.T) {
	testAccepted(t, schedulerconfig.Options{}, []accepted{
		{"everywhere, by multiPoint", `
plugins: {multiPoint: {disabled: [{name: NodePorts}, {name: PodTopologySpread}, {name: ImageLocality}]}}`, `
disabledFilters: [PLUGIN_NODE_PORTS, PLUGIN_POD_TOPOLOGY_SPREAD]
pluginWeights: [{plugin: PLUGIN_POD_TOPOLOGY_SPREAD, weight: 0}, {plugin: PLUGIN_IMAGE_LOCALITY, weight: 0}]`},
		{"claims, by multiPoint", `
plugins: {multiPoint: {disabled: [{name: DynamicResources}]}}`, `
disabledFilters: [PLUGIN_DYNAMIC_RESOURCES]
disabledPostFilters: [POST_FILTER_DYNAMIC_RESOURCES]
disabledPodGroupPostFilters: [POST_FILTER_DYNAMIC_RESOURCES]
pluginWeights: [{plugin: PLUGIN_DYNAMIC_RESOURCES, weight: 0}]`},
		{"for filter alone, which leaves preFilter without an effect", `
plugins: {filter: {disabled: [{name: PodTopologySpread}]}}`, `
disabledFilters: [PLUGIN_POD_TOPOLOGY_SPREAD]`},
		{"for filter and preFilter", `
plugins: {filter: {disabled: [{name: NodeAffinity}]}, preFilter: {disabled: [{name: NodeAffinity}]}}`, `
disabledFilters: [PLUGIN_NODE_AFFINITY]`},
		{"for score alone", `
plugins: {score: {disabled: [{name: NodeAffinity}]}}`, `
pluginWeights: [{plugin: PLUGIN_NODE_AFFINITY, weight: 0}]`},
		{"for score and preScore", `
plugins: {score: {disabled: [{name: NodeAffinity}]}, preScore: {disabled: [{name: NodeAffinity}]}}`, `
pluginWeights: [{plugin: PLUGIN_NODE_AFFINITY, weight: 0}]`},
		{"all scores but one", `
plugins: {score: {disabled: [{name: "*"}], enabled: [{name: NodeResourcesFit, weight: 5}]}}`, `
pluginWeights:
- {plugin: PLUGIN_TAINT_TOLERATION, weight: 0}
- {plugin: PLUGIN_NODE_AFFINITY, weight: 0}
- {plugin: PLUGIN_NODE_RESOURCES_FIT, weight: 5}
- {plugin: PLUGIN_VOLUME_BINDING, weight: 0}
- {plugin: PLUGIN_POD_TOPOLOGY_SPREAD, weight: 0}
- {plugin: PLUGIN_INTER_POD_AFFINITY, weight: 0}
- {plugin: PLUGIN_DYNAMIC_RESOURCES, weight: 0}
- {plugin: PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION, weight: 0}
- {plugin: PLUGIN_IMAGE_LOCALITY, weight: 0}`},
		{"everywhere but at score", `
plugins:
  multiPoint: {disabled: [{name: TaintToleration}]}
  preScore: {enabled: [{name: TaintToleration}]}
  score: {enabled: [{name: TaintToleration, weight: 3}]}`, `
disabledFilters: [PLUGIN_TAINT_TOLERATION]`},
		{"all of multiPoint, and some enabled by it", `
plugins:
  multiPoint:
    disabled: [{name: "*"}]
    enabled: [{name: PrioritySort}, {name: NodeName}, {name: NodeResourcesFit, weight: 1}, {name: DefaultBinder}]`, `
disabledPostFilters: [POST_FILTER_DYNAMIC_RESOURCES, POST_FILTER_DEFAULT_PREEMPTION]
disabledPodGroupPostFilters: [POST_FILTER_DYNAMIC_RESOURCES, POST_FILTER_DEFAULT_PREEMPTION]
disabledFilters:
- PLUGIN_SCHEDULING_GATES
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
- {plugin: PLUGIN_VOLUME_BINDING, weight: 0}
- {plugin: PLUGIN_POD_TOPOLOGY_SPREAD, weight: 0}
- {plugin: PLUGIN_INTER_POD_AFFINITY, weight: 0}
- {plugin: PLUGIN_DYNAMIC_RESOURCES, weight: 0}
- {plugin: PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION, weight: 0}
- {plugin: PLUGIN_IMAGE_LOCALITY, weight: 0}`},
		{"preEnqueue", `
plugins: {preEnqueue: {disabled: [{name: "*"}]}}`, `
disabledFilters: [PLUGIN_SCHEDULING_GATES]`},
		{"preEnqueue of DefaultPreemption, which rejects nothing", `
plugins: {preEnqueue: {enabled: [{name: DefaultPreemption}]}}`, `{}`},
		{"preEnqueue without DefaultPreemption", `
plugins: {preEnqueue: {disabled: [{name: DefaultPreemption}]}}`, `{}`},
	})
	testRefused(t, []refused{
		{"filter alone, of a plugin that rejects nodes in preFilter", `
plugins: {filter: {disabled: [{name: NodeAffinity}]}}`, `
profiles[0].plugins.filter: Forbidden: NodeAffinity rejects nodes in preFilter: disable both`},
	})
	testAccepted(t, schedulerconfig.Options{Extender: &schedulerconfig.Extender{Plugins: []string{"InterPodAffinity"}}}, []accepted{
		{"disabled because the extender decides", `
plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}`, `{}`},
	})
}
