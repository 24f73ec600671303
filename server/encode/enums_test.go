package encode

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// every asserts by name that a mapping covers each value of an enum of the contract except UNSPECIFIED.
func every[E protoreflect.Enum](t *testing.T, prefix string, got map[string]E) {
	t.Helper()
	var zero E
	values := zero.Descriptor().Values()
	if len(got) != values.Len()-1 {
		t.Errorf("%s has %d values, %d are mapped", zero.Descriptor().FullName(), values.Len()-1, len(got))
	}
	for name, e := range got {
		v := values.ByName(protoreflect.Name(prefix + name))
		switch {
		case v == nil:
			t.Errorf("%s has no value %s%s", zero.Descriptor().FullName(), prefix, name)
		case v.Number() != e.Number():
			t.Errorf("%s%s is %d, the mapping gives %d", prefix, name, v.Number(), e.Number())
		}
	}
}

// TestDeviceEnumsAgree is TestEnumsAgree for devices.
func TestDeviceEnumsAgree(t *testing.T) {
	every(t, "DEVICE_EXCLUSION_", map[string]stowagev1.DeviceExclusion{
		"CLASS_SELECTOR": deviceExclusion(verdict.DeviceOfOtherClass),
		"SELECTOR":       deviceExclusion(verdict.DeviceNotSelected),
		"NOT_EVALUATED":  deviceExclusion(verdict.DeviceNotEvaluated),
		"TOO_SMALL":      deviceExclusion(verdict.DeviceTooSmall),
		"TAINT":          deviceExclusion(verdict.DeviceTainted),
		"TAKEN":          deviceExclusion(verdict.DeviceTaken),
		"CAPACITY_USED":  deviceExclusion(verdict.DeviceCapacityUsed),
		"COUNTERS_USED":  deviceExclusion(verdict.DeviceCountersUsed),
	})
	every(t, "DEVICE_ATTRIBUTE_KIND_", map[string]stowagev1.DeviceAttributeKind{
		"STRING":  deviceAttributeKind(api.StringAttribute),
		"INTEGER": deviceAttributeKind(api.IntegerAttribute),
		"BOOLEAN": deviceAttributeKind(api.BooleanAttribute),
		"VERSION": deviceAttributeKind(api.VersionAttribute),
	})
	every(t, "DEVICE_TAINT_EFFECT_", map[string]stowagev1.DeviceTaintEffect{
		"NO_SCHEDULE": deviceTaintEffect(api.DeviceNoSchedule),
		"NO_EXECUTE":  deviceTaintEffect(api.DeviceNoExecute),
	})
}

func TestEnumsAgree(t *testing.T) {
	every(t, "PLUGIN_", map[string]stowagev1.Plugin{
		"SCHEDULING_GATES":                   Plugin(verdict.SchedulingGates),
		"NODE_NAME":                          Plugin(verdict.NodeName),
		"NODE_UNSCHEDULABLE":                 Plugin(verdict.NodeUnschedulable),
		"TAINT_TOLERATION":                   Plugin(verdict.TaintToleration),
		"NODE_AFFINITY":                      Plugin(verdict.NodeAffinity),
		"NODE_PORTS":                         Plugin(verdict.NodePorts),
		"NODE_RESOURCES_FIT":                 Plugin(verdict.NodeResourcesFit),
		"POD_TOPOLOGY_SPREAD":                Plugin(verdict.PodTopologySpread),
		"INTER_POD_AFFINITY":                 Plugin(verdict.InterPodAffinity),
		"NODE_RESOURCES_BALANCED_ALLOCATION": Plugin(verdict.BalancedAllocation),
		"IMAGE_LOCALITY":                     Plugin(verdict.ImageLocality),
		"DEFAULT_PREEMPTION":                 Plugin(verdict.DefaultPreemption),
		"TOPOLOGY_PLACEMENT_GENERATOR":       Plugin(verdict.TopologyPlacement),
		"NODE_DECLARED_FEATURES":             Plugin(verdict.NodeDeclaredFeatures),
		"VOLUME_RESTRICTIONS":                Plugin(verdict.VolumeRestrictions),
		"NODE_VOLUME_LIMITS":                 Plugin(verdict.NodeVolumeLimits),
		"VOLUME_BINDING":                     Plugin(verdict.VolumeBinding),
		"VOLUME_ZONE":                        Plugin(verdict.VolumeZone),
		"DYNAMIC_RESOURCES":                  Plugin(verdict.DynamicResources),
	})
	every(t, "POD_GROUP_STATUS_", map[string]stowagev1.PodGroupStatus{
		"COMPLETE":    groupStatus(verdict.GroupComplete),
		"BEST_EFFORT": groupStatus(verdict.GroupBestEffort),
		"INFEASIBLE":  groupStatus(verdict.GroupInfeasible),
		"UNDECIDED":   groupStatus(verdict.GroupUndecided),
		"UNATTEMPTED": groupStatus(verdict.GroupUnattempted),
		"EVICTED":     groupStatus(verdict.GroupEvicted),
	})
	every(t, "TOPOLOGY_RULE_", map[string]stowagev1.TopologyRule{
		"HARD_SPREAD":                topologyRule(verdict.HardSpread),
		"SOFT_SPREAD":                topologyRule(verdict.SoftSpread),
		"POD_AFFINITY":               topologyRule(verdict.PodAffinity),
		"POD_ANTI_AFFINITY":          topologyRule(verdict.PodAntiAffinity),
		"EXISTING_POD_ANTI_AFFINITY": topologyRule(verdict.ExistingPodAntiAffinity),
	})
	every(t, "UNCOUNTED_REASON_", map[string]stowagev1.UncountedReason{
		"MISSING_TOPOLOGY_KEY": uncountedReason(verdict.MissingTopologyKey),
		"NODE_AFFINITY_POLICY": uncountedReason(verdict.NodeAffinityPolicy),
		"NODE_TAINTS_POLICY":   uncountedReason(verdict.NodeTaintsPolicy),
	})
	every(t, "TAINT_EFFECT_", map[string]stowagev1.TaintEffect{
		"NO_SCHEDULE":        taintEffect(api.NoSchedule),
		"PREFER_NO_SCHEDULE": taintEffect(api.PreferNoSchedule),
		"NO_EXECUTE":         taintEffect(api.NoExecute),
	})
	every(t, "NODE_SELECTOR_OPERATOR_", map[string]stowagev1.NodeSelectorOperator{
		"IN":             nodeOperator(api.In),
		"NOT_IN":         nodeOperator(api.NotIn),
		"EXISTS":         nodeOperator(api.Exists),
		"DOES_NOT_EXIST": nodeOperator(api.DoesNotExist),
		"GT":             nodeOperator(api.GreaterThan),
		"LT":             nodeOperator(api.LessThan),
	})
	every(t, "TOLERATION_OPERATOR_", map[string]stowagev1.TolerationOperator{
		"EQUAL":  tolerationOperator(api.TolerationEqual),
		"EXISTS": tolerationOperator(api.TolerationExists),
		"LT":     tolerationOperator(api.TolerationLessThan),
		"GT":     tolerationOperator(api.TolerationGreaterThan),
	})
	every(t, "STATUS_CODE_", map[string]stowagev1.StatusCode{
		"UNSCHEDULABLE":                  code(verdict.Unschedulable),
		"UNSCHEDULABLE_AND_UNRESOLVABLE": code(verdict.UnschedulableAndUnresolvable),
		"ERROR":                          code(verdict.Error),
	})
}

func TestDrainEnumsAgree(t *testing.T) {
	every(t, "DRAIN_STATUS_", map[string]stowagev1.DrainStatus{
		"DRAINED":  drainStatus(verdict.Drained),
		"UNPLACED": drainStatus(verdict.DrainUnplaced),
		"BLOCKED":  drainStatus(verdict.DrainBlocked),
	})
	every(t, "BLOCKED_REASON_", map[string]stowagev1.BlockedReason{
		"BUDGET":          blockedReason(verdict.BlockedByBudget),
		"SEVERAL_BUDGETS": blockedReason(verdict.BlockedBySeveralBudgets),
		"NO_CONTROLLER":   blockedReason(verdict.BlockedWithoutController),
		"EMPTY_DIR":       blockedReason(verdict.BlockedByEmptyDir),
		"DAEMON_SET_GONE": blockedReason(verdict.BlockedWithoutDaemonSet),
		"DAEMON_SET":      blockedReason(verdict.BlockedAsDaemonSetPod),
		"OUTDATED_BUDGET": blockedReason(verdict.BlockedByOutdatedBudget),
	})
	every(t, "DOUBT_KIND_", map[string]stowagev1.DoubtKind{
		"UNREAD_FIELD":    doubtKind(verdict.UnreadField),
		"OTHER_SCHEDULER": doubtKind(verdict.OtherScheduler),
		"POD_GROUP":       doubtKind(verdict.SingleGroupMember),
		"PREEMPTED":       doubtKind(verdict.PreemptedForGood),
		"ASSUMED_READY":   doubtKind(verdict.AssumedReady),
		"LIMIT":           doubtKind(verdict.LimitMet),

		"DEVICES_NOT_DECIDED": doubtKind(verdict.DevicesUndecided),
	})
	every(t, "KEPT_REASON_", map[string]stowagev1.KeptReason{
		"PODS":        keptReason(verdict.KeptForPods),
		"PODS_RETURN": keptReason(verdict.KeptForReturn),
		"PRICE":       keptReason(verdict.KeptForPrice),
		"LIMIT":       keptReason(verdict.KeptByLimit),
	})
}

// TestEveryReasonHasAText proves that each reason of the engine has kube-scheduler's text, or gets it from its plugin.
func TestEveryReasonHasAText(t *testing.T) {
	given := map[verdict.ReasonType]bool{
		verdict.ReasonSchedulingGated: true, verdict.ReasonInsufficientResource: true, verdict.ReasonNarrowedOut: true,
		verdict.ReasonUnparsablePod: true, verdict.ReasonInvalidScore: true, verdict.ReasonDriverMissing: true, verdict.ReasonClaim: true,
	}
	for r := verdict.NoReason + 1; int(r) < len(reasonTypes); r++ {
		if text := verdict.ReasonOf(r).Message; (text == "") != given[r] {
			t.Errorf("the text of %s is %q", reasonType(r), text)
		}
	}
}

// TestEveryPluginIsMapped proves that each plugin of the engine has a value in the contract, of its own.
func TestEveryPluginIsMapped(t *testing.T) {
	seen := make(map[stowagev1.Plugin]bool)
	for _, p := range engine.Plugins() {
		value := Plugin(p.Name)
		if value == stowagev1.Plugin_PLUGIN_UNSPECIFIED || seen[value] {
			t.Errorf("%s is %s", p.Name, value)
		}
		seen[value] = true
	}
}

func TestReasonsAgree(t *testing.T) {
	every(t, "REJECTION_REASON_", map[string]stowagev1.RejectionReason{
		"DISK_CONFLICT":                 reasonType(verdict.ReasonDiskConflict),
		"READ_WRITE_ONCE_POD_CONFLICT":  reasonType(verdict.ReasonReadWriteOncePod),
		"VOLUME_LIMIT":                  reasonType(verdict.ReasonVolumeLimit),
		"CSI_DRIVER_MISSING":            reasonType(verdict.ReasonDriverMissing),
		"VOLUME_NODE_CONFLICT":          reasonType(verdict.ReasonVolumeNodeConflict),
		"VOLUME_BIND_CONFLICT":          reasonType(verdict.ReasonVolumeBindConflict),
		"STORAGE_CAPACITY":              reasonType(verdict.ReasonStorageCapacity),
		"VOLUME_NOT_FOUND":              reasonType(verdict.ReasonVolumeNotFound),
		"VOLUME_ZONE":                   reasonType(verdict.ReasonVolumeZone),
		"CLAIM":                         reasonType(verdict.ReasonClaim),
		"NO_DEVICES":                    reasonType(verdict.ReasonNoDevices),
		"RESOURCE_CLAIM_UNAVAILABLE":    reasonType(verdict.ReasonResourceClaimUnavailable),
		"INVALID_RESOURCE_POOLS":        reasonType(verdict.ReasonInvalidPools),
		"RESOURCE_NOT_SERVED":           reasonType(verdict.ReasonNotServed),
		"EXTENDED_RESOURCE_CLAIM":       reasonType(verdict.ReasonExtendedClaim),
		"DEVICES_NOT_DECIDED":           reasonType(verdict.ReasonDevicesUndecided),
		"SCHEDULING_GATED":              reasonType(verdict.ReasonSchedulingGated),
		"NODE_NAME":                     reasonType(verdict.ReasonNodeName),
		"NODE_UNSCHEDULABLE":            reasonType(verdict.ReasonNodeUnschedulable),
		"UNTOLERATED_TAINT":             reasonType(verdict.ReasonUntoleratedTaint),
		"NODE_AFFINITY":                 reasonType(verdict.ReasonNodeAffinity),
		"ADDED_NODE_AFFINITY":           reasonType(verdict.ReasonAddedNodeAffinity),
		"NODE_AFFINITY_CONFLICT":        reasonType(verdict.ReasonNodeAffinityConflict),
		"HOST_PORT":                     reasonType(verdict.ReasonHostPort),
		"TOO_MANY_PODS":                 reasonType(verdict.ReasonTooManyPods),
		"INSUFFICIENT_RESOURCE":         reasonType(verdict.ReasonInsufficientResource),
		"TOPOLOGY_SPREAD":               reasonType(verdict.ReasonSpread),
		"TOPOLOGY_SPREAD_MISSING_LABEL": reasonType(verdict.ReasonSpreadMissingLabel),
		"POD_AFFINITY":                  reasonType(verdict.ReasonPodAffinity),
		"POD_ANTI_AFFINITY":             reasonType(verdict.ReasonPodAntiAffinity),
		"EXISTING_POD_ANTI_AFFINITY":    reasonType(verdict.ReasonExistingPodAntiAffinity),
		"PRE_FILTER_RESULT":             reasonType(verdict.ReasonNarrowedOut),
		"NO_NODES":                      reasonType(verdict.ReasonNoNodes),
		"UNPARSABLE_POD":                reasonType(verdict.ReasonUnparsablePod),
		"INVALID_SCORE":                 reasonType(verdict.ReasonInvalidScore),
		"NO_VICTIMS":                    reasonType(verdict.ReasonNoVictims),
		"PREEMPTION_NOT_HELPFUL":        reasonType(verdict.ReasonPreemptionNotHelpful),
		"POD_GROUP":                     reasonType(verdict.ReasonPodGroup),
		"DECLARED_FEATURES":             reasonType(verdict.ReasonDeclaredFeatures),
	})
}
