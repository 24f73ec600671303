package encode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// These tables map the engine's enumerations to the contract's. Their numbers are unrelated.

var plugins = [...]stowagev1.Plugin{
	verdict.SchedulingGates:      stowagev1.Plugin_PLUGIN_SCHEDULING_GATES,
	verdict.NodeName:             stowagev1.Plugin_PLUGIN_NODE_NAME,
	verdict.NodeUnschedulable:    stowagev1.Plugin_PLUGIN_NODE_UNSCHEDULABLE,
	verdict.TaintToleration:      stowagev1.Plugin_PLUGIN_TAINT_TOLERATION,
	verdict.NodeAffinity:         stowagev1.Plugin_PLUGIN_NODE_AFFINITY,
	verdict.NodePorts:            stowagev1.Plugin_PLUGIN_NODE_PORTS,
	verdict.NodeResourcesFit:     stowagev1.Plugin_PLUGIN_NODE_RESOURCES_FIT,
	verdict.PodTopologySpread:    stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD,
	verdict.InterPodAffinity:     stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY,
	verdict.BalancedAllocation:   stowagev1.Plugin_PLUGIN_NODE_RESOURCES_BALANCED_ALLOCATION,
	verdict.ImageLocality:        stowagev1.Plugin_PLUGIN_IMAGE_LOCALITY,
	verdict.DefaultPreemption:    stowagev1.Plugin_PLUGIN_DEFAULT_PREEMPTION,
	verdict.TopologyPlacement:    stowagev1.Plugin_PLUGIN_TOPOLOGY_PLACEMENT_GENERATOR,
	verdict.NodeDeclaredFeatures: stowagev1.Plugin_PLUGIN_NODE_DECLARED_FEATURES,
	verdict.VolumeRestrictions:   stowagev1.Plugin_PLUGIN_VOLUME_RESTRICTIONS,
	verdict.NodeVolumeLimits:     stowagev1.Plugin_PLUGIN_NODE_VOLUME_LIMITS,
	verdict.VolumeBinding:        stowagev1.Plugin_PLUGIN_VOLUME_BINDING,
	verdict.VolumeZone:           stowagev1.Plugin_PLUGIN_VOLUME_ZONE,
	verdict.DynamicResources:     stowagev1.Plugin_PLUGIN_DYNAMIC_RESOURCES,
}

// A plugin or a reason of the engine without a value in the contract does not compile here.
var (
	_ [verdict.PluginCount]stowagev1.Plugin          = plugins
	_ [verdict.ReasonCount]stowagev1.RejectionReason = reasonTypes
)

// Plugin returns a plugin's value in the contract.
func Plugin(x verdict.Plugin) stowagev1.Plugin { return plugins[x] }

var reasonTypes = [...]stowagev1.RejectionReason{
	verdict.ReasonSchedulingGated:         stowagev1.RejectionReason_REJECTION_REASON_SCHEDULING_GATED,
	verdict.ReasonNodeName:                stowagev1.RejectionReason_REJECTION_REASON_NODE_NAME,
	verdict.ReasonNodeUnschedulable:       stowagev1.RejectionReason_REJECTION_REASON_NODE_UNSCHEDULABLE,
	verdict.ReasonUntoleratedTaint:        stowagev1.RejectionReason_REJECTION_REASON_UNTOLERATED_TAINT,
	verdict.ReasonNodeAffinity:            stowagev1.RejectionReason_REJECTION_REASON_NODE_AFFINITY,
	verdict.ReasonAddedNodeAffinity:       stowagev1.RejectionReason_REJECTION_REASON_ADDED_NODE_AFFINITY,
	verdict.ReasonNodeAffinityConflict:    stowagev1.RejectionReason_REJECTION_REASON_NODE_AFFINITY_CONFLICT,
	verdict.ReasonHostPort:                stowagev1.RejectionReason_REJECTION_REASON_HOST_PORT,
	verdict.ReasonTooManyPods:             stowagev1.RejectionReason_REJECTION_REASON_TOO_MANY_PODS,
	verdict.ReasonInsufficientResource:    stowagev1.RejectionReason_REJECTION_REASON_INSUFFICIENT_RESOURCE,
	verdict.ReasonSpread:                  stowagev1.RejectionReason_REJECTION_REASON_TOPOLOGY_SPREAD,
	verdict.ReasonSpreadMissingLabel:      stowagev1.RejectionReason_REJECTION_REASON_TOPOLOGY_SPREAD_MISSING_LABEL,
	verdict.ReasonPodAffinity:             stowagev1.RejectionReason_REJECTION_REASON_POD_AFFINITY,
	verdict.ReasonPodAntiAffinity:         stowagev1.RejectionReason_REJECTION_REASON_POD_ANTI_AFFINITY,
	verdict.ReasonExistingPodAntiAffinity: stowagev1.RejectionReason_REJECTION_REASON_EXISTING_POD_ANTI_AFFINITY,
	verdict.ReasonNarrowedOut:             stowagev1.RejectionReason_REJECTION_REASON_PRE_FILTER_RESULT,
	verdict.ReasonNoNodes:                 stowagev1.RejectionReason_REJECTION_REASON_NO_NODES,
	verdict.ReasonUnparsablePod:           stowagev1.RejectionReason_REJECTION_REASON_UNPARSABLE_POD,
	verdict.ReasonInvalidScore:            stowagev1.RejectionReason_REJECTION_REASON_INVALID_SCORE,
	verdict.ReasonNoVictims:               stowagev1.RejectionReason_REJECTION_REASON_NO_VICTIMS,
	verdict.ReasonPreemptionNotHelpful:    stowagev1.RejectionReason_REJECTION_REASON_PREEMPTION_NOT_HELPFUL,
	verdict.ReasonPodGroup:                stowagev1.RejectionReason_REJECTION_REASON_POD_GROUP,
	verdict.ReasonDeclaredFeatures:        stowagev1.RejectionReason_REJECTION_REASON_DECLARED_FEATURES,
	verdict.ReasonDiskConflict:            stowagev1.RejectionReason_REJECTION_REASON_DISK_CONFLICT,
	verdict.ReasonReadWriteOncePod:        stowagev1.RejectionReason_REJECTION_REASON_READ_WRITE_ONCE_POD_CONFLICT,
	verdict.ReasonVolumeLimit:             stowagev1.RejectionReason_REJECTION_REASON_VOLUME_LIMIT,
	verdict.ReasonDriverMissing:           stowagev1.RejectionReason_REJECTION_REASON_CSI_DRIVER_MISSING,
	verdict.ReasonVolumeNodeConflict:      stowagev1.RejectionReason_REJECTION_REASON_VOLUME_NODE_CONFLICT,
	verdict.ReasonVolumeBindConflict:      stowagev1.RejectionReason_REJECTION_REASON_VOLUME_BIND_CONFLICT,
	verdict.ReasonStorageCapacity:         stowagev1.RejectionReason_REJECTION_REASON_STORAGE_CAPACITY,
	verdict.ReasonVolumeNotFound:          stowagev1.RejectionReason_REJECTION_REASON_VOLUME_NOT_FOUND,
	verdict.ReasonVolumeZone:              stowagev1.RejectionReason_REJECTION_REASON_VOLUME_ZONE,
	verdict.ReasonClaim:                   stowagev1.RejectionReason_REJECTION_REASON_CLAIM,

	verdict.ReasonNoDevices:                stowagev1.RejectionReason_REJECTION_REASON_NO_DEVICES,
	verdict.ReasonResourceClaimUnavailable: stowagev1.RejectionReason_REJECTION_REASON_RESOURCE_CLAIM_UNAVAILABLE,
	verdict.ReasonInvalidPools:             stowagev1.RejectionReason_REJECTION_REASON_INVALID_RESOURCE_POOLS,
	verdict.ReasonNotServed:                stowagev1.RejectionReason_REJECTION_REASON_RESOURCE_NOT_SERVED,
	verdict.ReasonExtendedClaim:            stowagev1.RejectionReason_REJECTION_REASON_EXTENDED_RESOURCE_CLAIM,
	verdict.ReasonDevicesUndecided:         stowagev1.RejectionReason_REJECTION_REASON_DEVICES_NOT_DECIDED,
}

func reasonType(x verdict.ReasonType) stowagev1.RejectionReason { return reasonTypes[x] }

var topologyRules = [...]stowagev1.TopologyRule{
	verdict.HardSpread:              stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD,
	verdict.SoftSpread:              stowagev1.TopologyRule_TOPOLOGY_RULE_SOFT_SPREAD,
	verdict.PodAffinity:             stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY,
	verdict.PodAntiAffinity:         stowagev1.TopologyRule_TOPOLOGY_RULE_POD_ANTI_AFFINITY,
	verdict.ExistingPodAntiAffinity: stowagev1.TopologyRule_TOPOLOGY_RULE_EXISTING_POD_ANTI_AFFINITY,
}

func topologyRule(x verdict.TopologyRule) stowagev1.TopologyRule { return topologyRules[x] }

var groupStatuses = [...]stowagev1.PodGroupStatus{
	verdict.GroupComplete:    stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE,
	verdict.GroupBestEffort:  stowagev1.PodGroupStatus_POD_GROUP_STATUS_BEST_EFFORT,
	verdict.GroupInfeasible:  stowagev1.PodGroupStatus_POD_GROUP_STATUS_INFEASIBLE,
	verdict.GroupUndecided:   stowagev1.PodGroupStatus_POD_GROUP_STATUS_UNDECIDED,
	verdict.GroupUnattempted: stowagev1.PodGroupStatus_POD_GROUP_STATUS_UNATTEMPTED,
	verdict.GroupEvicted:     stowagev1.PodGroupStatus_POD_GROUP_STATUS_EVICTED,
}

func groupStatus(x verdict.GroupStatus) stowagev1.PodGroupStatus { return groupStatuses[x] }

var uncountedReasons = [...]stowagev1.UncountedReason{
	verdict.MissingTopologyKey: stowagev1.UncountedReason_UNCOUNTED_REASON_MISSING_TOPOLOGY_KEY,
	verdict.NodeAffinityPolicy: stowagev1.UncountedReason_UNCOUNTED_REASON_NODE_AFFINITY_POLICY,
	verdict.NodeTaintsPolicy:   stowagev1.UncountedReason_UNCOUNTED_REASON_NODE_TAINTS_POLICY,
}

func uncountedReason(x verdict.UncountedReason) stowagev1.UncountedReason { return uncountedReasons[x] }

var taintEffects = [...]stowagev1.TaintEffect{
	api.NoSchedule:       stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE,
	api.PreferNoSchedule: stowagev1.TaintEffect_TAINT_EFFECT_PREFER_NO_SCHEDULE,
	api.NoExecute:        stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE,
}

func taintEffect(x api.TaintEffect) stowagev1.TaintEffect { return taintEffects[x] }

var nodeOperators = [...]stowagev1.NodeSelectorOperator{
	api.In:           stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_IN,
	api.NotIn:        stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_NOT_IN,
	api.Exists:       stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_EXISTS,
	api.DoesNotExist: stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_DOES_NOT_EXIST,
	api.GreaterThan:  stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_GT,
	api.LessThan:     stowagev1.NodeSelectorOperator_NODE_SELECTOR_OPERATOR_LT,
}

func nodeOperator(x api.Operator) stowagev1.NodeSelectorOperator { return nodeOperators[x] }

var tolerationOperators = [...]stowagev1.TolerationOperator{
	api.TolerationEqual:       stowagev1.TolerationOperator_TOLERATION_OPERATOR_EQUAL,
	api.TolerationExists:      stowagev1.TolerationOperator_TOLERATION_OPERATOR_EXISTS,
	api.TolerationLessThan:    stowagev1.TolerationOperator_TOLERATION_OPERATOR_LT,
	api.TolerationGreaterThan: stowagev1.TolerationOperator_TOLERATION_OPERATOR_GT,
}

func tolerationOperator(x api.TolerationOperator) stowagev1.TolerationOperator {
	return tolerationOperators[x]
}

var codes = [...]stowagev1.StatusCode{
	verdict.Unschedulable:                stowagev1.StatusCode_STATUS_CODE_UNSCHEDULABLE,
	verdict.UnschedulableAndUnresolvable: stowagev1.StatusCode_STATUS_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE,
	verdict.Error:                        stowagev1.StatusCode_STATUS_CODE_ERROR,
}

func code(x verdict.Code) stowagev1.StatusCode { return codes[x] }

var drainStatuses = [...]stowagev1.DrainStatus{
	verdict.Drained:       stowagev1.DrainStatus_DRAIN_STATUS_DRAINED,
	verdict.DrainUnplaced: stowagev1.DrainStatus_DRAIN_STATUS_UNPLACED,
	verdict.DrainBlocked:  stowagev1.DrainStatus_DRAIN_STATUS_BLOCKED,
}

func drainStatus(x verdict.DrainStatus) stowagev1.DrainStatus { return drainStatuses[x] }

var blockedReasons = [...]stowagev1.BlockedReason{
	verdict.BlockedByBudget:          stowagev1.BlockedReason_BLOCKED_REASON_BUDGET,
	verdict.BlockedBySeveralBudgets:  stowagev1.BlockedReason_BLOCKED_REASON_SEVERAL_BUDGETS,
	verdict.BlockedWithoutController: stowagev1.BlockedReason_BLOCKED_REASON_NO_CONTROLLER,
	verdict.BlockedByEmptyDir:        stowagev1.BlockedReason_BLOCKED_REASON_EMPTY_DIR,
	verdict.BlockedWithoutDaemonSet:  stowagev1.BlockedReason_BLOCKED_REASON_DAEMON_SET_GONE,
	verdict.BlockedAsDaemonSetPod:    stowagev1.BlockedReason_BLOCKED_REASON_DAEMON_SET,
	verdict.BlockedByOutdatedBudget:  stowagev1.BlockedReason_BLOCKED_REASON_OUTDATED_BUDGET,
}

func blockedReason(x verdict.BlockedReason) stowagev1.BlockedReason { return blockedReasons[x] }

var doubtKinds = [...]stowagev1.DoubtKind{
	verdict.UnreadField:       stowagev1.DoubtKind_DOUBT_KIND_UNREAD_FIELD,
	verdict.OtherScheduler:    stowagev1.DoubtKind_DOUBT_KIND_OTHER_SCHEDULER,
	verdict.SingleGroupMember: stowagev1.DoubtKind_DOUBT_KIND_POD_GROUP,
	verdict.PreemptedForGood:  stowagev1.DoubtKind_DOUBT_KIND_PREEMPTED,
	verdict.AssumedReady:      stowagev1.DoubtKind_DOUBT_KIND_ASSUMED_READY,
	verdict.LimitMet:          stowagev1.DoubtKind_DOUBT_KIND_LIMIT,
	verdict.DevicesUndecided:  stowagev1.DoubtKind_DOUBT_KIND_DEVICES_NOT_DECIDED,
}

func doubtKind(x verdict.DoubtKind) stowagev1.DoubtKind { return doubtKinds[x] }

var keptReasons = [...]stowagev1.KeptReason{
	verdict.KeptForPods:   stowagev1.KeptReason_KEPT_REASON_PODS,
	verdict.KeptForReturn: stowagev1.KeptReason_KEPT_REASON_PODS_RETURN,
	verdict.KeptForPrice:  stowagev1.KeptReason_KEPT_REASON_PRICE,
	verdict.KeptByLimit:   stowagev1.KeptReason_KEPT_REASON_LIMIT,
}

func keptReason(x verdict.KeptReason) stowagev1.KeptReason { return keptReasons[x] }
