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
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"

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
	interpodaffinity.ErrReasonExistingAntiAffinityRulesNotMatch: stowagev1.RejectionReason_REJECTION_REASON_EXISTING_POD_ANTI_AFFINITY,
}

func reason(refusal *oracle.Refusal, text string) (*stowagev1.Reason, error) {
	plugin := refusal.Plugin
	r := &stowagev1.Reason{Message: text, Type: types[text]}
	switch {
	case r.Type != 0:
	case refusal.Code == fwk.Error && plugin == names.NodeResourcesFit, plugin == names.NodeResourcesBalancedAllocation:
		r.Type = stowagev1.RejectionReason_REJECTION_REASON_INVALID_SCORE
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
