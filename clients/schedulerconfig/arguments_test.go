package schedulerconfig_test

import (
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
)

func TestArguments(t *testing.T) {
	testAccepted(t, schedulerconfig.Options{}, []accepted{
		{"none", `
pluginConfig: [{name: NodeResourcesFit}, {name: PodTopologySpread, args: {}}]`, `{}`},
		{"with kind", `
pluginConfig:
- name: InterPodAffinity
  args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs, hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}`, `
hardPodAffinityWeight: 0
ignorePreferredTermsOfExistingPods: true`},
		{"ignored resources", `
pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [example.com/a], ignoredResourceGroups: [example.org]}}]`, `
ignoredResources: [example.com/a]
ignoredResourceGroups: [example.org]`},
		{"most allocated, a weight of 0 is 1", `
pluginConfig:
- name: NodeResourcesFit
  args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}, {name: memory}]}}`, `
scoringStrategy: {type: SCORING_STRATEGY_TYPE_MOST_ALLOCATED, resources: [{name: cpu, weight: 3}, {name: memory, weight: 1}]}`},
		{"requested to capacity ratio", `
pluginConfig:
- name: NodeResourcesFit
  args:
    scoringStrategy:
      type: RequestedToCapacityRatio
      requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}`, `
scoringStrategy:
  type: SCORING_STRATEGY_TYPE_REQUESTED_TO_CAPACITY_RATIO
  shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]`},
		{"balanced allocation", `
pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu}, {name: example.com/gpu, weight: 1}]}}]`, `
balancedAllocationResources: [cpu, example.com/gpu]`},
		{"added affinity", `
pluginConfig:
- name: NodeAffinity
  args:
    addedAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 5, preference: {matchFields: [{key: metadata.name, operator: In, values: [a]}]}}`, `
addedAffinity:
  required: {terms: [{matchExpressions: [{key: disk, operator: NODE_SELECTOR_OPERATOR_IN, values: [ssd]}]}]}
  preferred: [{weight: 5, preference: {matchFields: [{key: metadata.name, operator: NODE_SELECTOR_OPERATOR_IN, values: [a]}]}}]`},
		{"the default shape of volumes", `
pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 5, shape: [{utilization: 0, score: 10}, {utilization: 100, score: 0}]}}]`, `{}`},
		{"system defaulting", `
pluginConfig: [{name: PodTopologySpread, args: {defaultingType: System}}]`, `{}`},
		{"no default constraints", `
pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List}}]`, `
defaultSpread: {type: DEFAULTING_TYPE_LIST}`},
		{"default constraints", `
pluginConfig:
- name: PodTopologySpread
  args:
    defaultingType: List
    defaultConstraints:
    - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}
    - {maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: 3, nodeTaintsPolicy: Honor}`, `
defaultSpread:
  type: DEFAULTING_TYPE_LIST
  constraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: UNSATISFIABLE_ACTION_SCHEDULE_ANYWAY
    nodeAffinityPolicy: NODE_INCLUSION_POLICY_HONOR
    nodeTaintsPolicy: NODE_INCLUSION_POLICY_IGNORE
  - maxSkew: 2
    topologyKey: zone
    whenUnsatisfiable: UNSATISFIABLE_ACTION_DO_NOT_SCHEDULE
    minDomains: 3
    nodeAffinityPolicy: NODE_INCLUSION_POLICY_HONOR
    nodeTaintsPolicy: NODE_INCLUSION_POLICY_HONOR`},
	})
}

func TestBindingTimeout(t *testing.T) {
	for arguments, want := range map[string]time.Duration{
		"":                            0,
		"args: {filterTimeout: 5s}":   0,
		"args: {bindingTimeout: 30m}": 30 * time.Minute,
	} {
		text := indented("pluginConfig: [{name: DynamicResources, " + arguments + "}]")
		got, err := schedulerconfig.Read([]byte(text), schedulerconfig.Options{})
		if err != nil || got.BindingTimeout != want {
			t.Errorf("%s: %v, %v", arguments, got, err)
		}
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	const at = "profiles[0].pluginConfig[0].args"
	testRefused(t, []refused{
		{"another shape of volumes", `
pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: -1, shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}]`, `
profiles[0].pluginConfig[0].args.bindTimeoutSeconds: Invalid value: -1: must not be negative
profiles[0].pluginConfig[0].args.shape: Forbidden: only the default shape is supported`},
		{"timeouts of devices", `
pluginConfig: [{name: DynamicResources, args: {filterTimeout: -1s, bindingTimeout: 500ms}}]`, `
profiles[0].pluginConfig[0].args.filterTimeout: Invalid value: "-1s": must be zero or positive
profiles[0].pluginConfig[0].args.bindingTimeout: Invalid value: "500ms": must be at least 1 second`},
		{"twice", `
pluginConfig: [{name: NodeAffinity}, {name: NodeAffinity}]`, `
profiles[0].pluginConfig[1].name: Duplicate value: "NodeAffinity"`},
		{"an unknown field", `
pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWait: 1}}]`,
			at + `: Forbidden: unknown field "hardPodAffinityWait"`},
		{"another kind", `
pluginConfig: [{name: InterPodAffinity, args: {apiVersion: v1, kind: NodeAffinityArgs}}]`,
			at + `.kind: Invalid value: "NodeAffinityArgs": must be InterPodAffinityArgs
` + at + `.apiVersion: Invalid value: "v1": must be kubescheduler.config.k8s.io/v1`},
		{"hardPodAffinityWeight", `
pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]`,
			at + `.hardPodAffinityWeight: Invalid value: 101: must be in [0, 100]`},
		{"ignored resources", `
pluginConfig: [{name: NodeResourcesFit, args: {ignoredResourceGroups: [a/b]}}]`,
			at + `.ignoredResourceGroups[0]: Invalid value: "a/b": must not contain a slash`},
		{"no type", `
pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {resources: [{name: cpu, weight: 101}]}}}]`,
			at + `.scoringStrategy.type: Unsupported value: "": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
` + at + `.scoringStrategy.resources[0].weight: Invalid value: 101: must be in [1, 100]`},
		{"a shape with another type", `
pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: LeastAllocated, requestedToCapacityRatio: {}}}}]`,
			at + `.scoringStrategy.requestedToCapacityRatio: Forbidden: needs type RequestedToCapacityRatio`},
		{"no shape", `
pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio}}}]`,
			at + `.scoringStrategy.requestedToCapacityRatio.shape: Required value: at least one point`},
		{"a shape out of order and out of range", `
pluginConfig:
- name: NodeResourcesFit
  args:
    scoringStrategy:
      type: RequestedToCapacityRatio
      requestedToCapacityRatio: {shape: [{utilization: 50, score: 11}, {utilization: 50, score: 1}, {utilization: 101, score: 1}]}`,
			at + `.scoringStrategy.requestedToCapacityRatio.shape[0].score: Invalid value: 11: must be in [0, 10]
` + at + `.scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 50: must be greater than the previous point's
` + at + `.scoringStrategy.requestedToCapacityRatio.shape[2].utilization: Invalid value: 101: must be in [0, 100]`},
		{"balanced allocation", `
pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu, weight: 2}, {name: cpu}]}}]`,
			at + `.resources[0].weight: Invalid value: 2: must be 1
` + at + `.resources[1].name: Duplicate value: "cpu"`},
		{"added affinity", `
pluginConfig:
- name: NodeAffinity
  args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Near}]}]}}}`,
			at + `.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: ` +
				`Unsupported value: "Near": supported values: "DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn"`},
		{"constraints with system defaulting", `
pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}}]`,
			at + `.defaultingType: Invalid value: "": must be List with defaultConstraints`},
		{"a defaulting type", `
pluginConfig: [{name: PodTopologySpread, args: {defaultingType: None}}]`,
			at + `.defaultingType: Unsupported value: "None": supported values: "System", "List"`},
		{"a constraint", `
pluginConfig:
- name: PodTopologySpread
  args:
    defaultingType: List
    defaultConstraints:
    - {maxSkew: 0, topologyKey: "", whenUnsatisfiable: Maybe, labelSelector: {}}
    - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}
    - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}`,
			at + `.defaultConstraints[0].maxSkew: Invalid value: 0: must be positive
` + at + `.defaultConstraints[0].topologyKey: Required value
` + at + `.defaultConstraints[0].labelSelector: Forbidden: kube-scheduler uses the selector of the pod's workload
` + at + `.defaultConstraints[2]: Duplicate value: "{zone, ScheduleAnyway}"
` + at + `.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"`},
	})
}
