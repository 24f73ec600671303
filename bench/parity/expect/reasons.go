package expect

import (
	"fmt"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// types are the contract's types of kube-scheduler's texts. Texts that upstream does not export stand here in full; one
// that changes upstream shows as a text without a type.
var types = map[string]stowagev1.RejectionReason{
	nodename.ErrReason:                                          stowagev1.RejectionReason_REJECTION_REASON_NODE_NAME,
	nodeunschedulable.ErrReasonUnschedulable:                    stowagev1.RejectionReason_REJECTION_REASON_NODE_UNSCHEDULABLE,
	"node(s) had untolerated taint(s)":                          stowagev1.RejectionReason_REJECTION_REASON_UNTOLERATED_TAINT,
	nodeaffinity.ErrReasonPod:                                   stowagev1.RejectionReason_REJECTION_REASON_NODE_AFFINITY,
	"node(s) didn't match scheduler-enforced node affinity":     stowagev1.RejectionReason_REJECTION_REASON_ADDED_NODE_AFFINITY,
	"pod affinity terms conflict":                               stowagev1.RejectionReason_REJECTION_REASON_NODE_AFFINITY_CONFLICT,
	nodeports.ErrReason:                                         stowagev1.RejectionReason_REJECTION_REASON_HOST_PORT,
	"Too many pods":                                             stowagev1.RejectionReason_REJECTION_REASON_TOO_MANY_PODS,
	podtopologyspread.ErrReasonConstraintsNotMatch:              stowagev1.RejectionReason_REJECTION_REASON_TOPOLOGY_SPREAD,
	podtopologyspread.ErrReasonNodeLabelNotMatch:                stowagev1.RejectionReason_REJECTION_REASON_TOPOLOGY_SPREAD_MISSING_LABEL,
	"node(s) didn't match Pod's required features":              stowagev1.RejectionReason_REJECTION_REASON_DECLARED_FEATURES,
	"No preemption victims found for incoming pod":              stowagev1.RejectionReason_REJECTION_REASON_NO_VICTIMS,
	"Preemption is not helpful for scheduling":                  stowagev1.RejectionReason_REJECTION_REASON_PREEMPTION_NOT_HELPFUL,
	interpodaffinity.ErrReasonAffinityRulesNotMatch:             stowagev1.RejectionReason_REJECTION_REASON_POD_AFFINITY,
	interpodaffinity.ErrReasonAntiAffinityRulesNotMatch:         stowagev1.RejectionReason_REJECTION_REASON_POD_ANTI_AFFINITY,
	volumerestrictions.ErrReasonDiskConflict:                    stowagev1.RejectionReason_REJECTION_REASON_DISK_CONFLICT,
	volumerestrictions.ErrReasonReadWriteOncePodConflict:        stowagev1.RejectionReason_REJECTION_REASON_READ_WRITE_ONCE_POD_CONFLICT,
	nodevolumelimits.ErrReasonMaxVolumeCountExceeded:            stowagev1.RejectionReason_REJECTION_REASON_VOLUME_LIMIT,
	string(volumebinding.ErrReasonNodeConflict):                 stowagev1.RejectionReason_REJECTION_REASON_VOLUME_NODE_CONFLICT,
	string(volumebinding.ErrReasonBindConflict):                 stowagev1.RejectionReason_REJECTION_REASON_VOLUME_BIND_CONFLICT,
	volumebinding.ErrReasonNotEnoughSpace:                       stowagev1.RejectionReason_REJECTION_REASON_STORAGE_CAPACITY,
	volumebinding.ErrReasonPVNotExist:                           stowagev1.RejectionReason_REJECTION_REASON_VOLUME_NOT_FOUND,
	volumezone.ErrReasonConflict:                                stowagev1.RejectionReason_REJECTION_REASON_VOLUME_ZONE,
	"cannot allocate all claims":                                stowagev1.RejectionReason_REJECTION_REASON_NO_DEVICES,
	"resourceclaim not available on the node":                   stowagev1.RejectionReason_REJECTION_REASON_RESOURCE_CLAIM_UNAVAILABLE,
	"invalid resource pools were encountered":                   stowagev1.RejectionReason_REJECTION_REASON_INVALID_RESOURCE_POOLS,
	"cannot fit resource":                                       stowagev1.RejectionReason_REJECTION_REASON_RESOURCE_NOT_SERVED,
	"cannot schedule extended resource claim":                   stowagev1.RejectionReason_REJECTION_REASON_EXTENDED_RESOURCE_CLAIM,
	interpodaffinity.ErrReasonExistingAntiAffinityRulesNotMatch: stowagev1.RejectionReason_REJECTION_REASON_EXISTING_POD_ANTI_AFFINITY,
}

func reason(refusal *oracle.Refusal, text string) (*stowagev1.Reason, error) {
	plugin := refusal.Plugin
	r := &stowagev1.Reason{Message: text, Type: types[text]}
	switch {
	case r.Type != 0:
	case refusal.Code == fwk.Error && plugin == names.NodeResourcesFit, plugin == names.NodeResourcesBalancedAllocation:
		r.Type = stowagev1.RejectionReason_REJECTION_REASON_INVALID_SCORE
	case plugin == names.NodeVolumeLimits && strings.HasSuffix(text, " CSI driver is not installed on the node"):
		r.Type = stowagev1.RejectionReason_REJECTION_REASON_CSI_DRIVER_MISSING
	case plugin == names.DynamicResources, plugin == names.VolumeRestrictions, plugin == names.NodeVolumeLimits, plugin == names.VolumeBinding, plugin == names.VolumeZone:
		r.Type = stowagev1.RejectionReason_REJECTION_REASON_CLAIM
	case refusal.Code == fwk.Error, plugin == names.InterPodAffinity && strings.HasPrefix(text, "parsing pod: "):
		r.Type = stowagev1.RejectionReason_REJECTION_REASON_UNPARSABLE_POD
	case plugin == names.SchedulingGates:
		r.Type = stowagev1.RejectionReason_REJECTION_REASON_SCHEDULING_GATED
	case plugin == "":
		r.Type = stowagev1.RejectionReason_REJECTION_REASON_PRE_FILTER_RESULT
	case plugin == names.NodeResourcesFit && strings.HasPrefix(text, "Insufficient "):
		r.Type = stowagev1.RejectionReason_REJECTION_REASON_INSUFFICIENT_RESOURCE
		r.Resource = strings.TrimPrefix(text, "Insufficient ")
	default:
		return nil, fmt.Errorf("plugin %q gives the reason %q, which the contract does not have", plugin, text)
	}
	return r, nil
}
