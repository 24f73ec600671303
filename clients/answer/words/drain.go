package words

import (
	"strings"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Result is the outcome of a drain in a few words.
func Result(a *stowagev1.NodeDrain) string {
	var out []string
	unplaced := uint64(0)
	for _, u := range a.GetUnplaced() {
		unplaced += uint64(u.GetPod().GetCount())
	}
	if unplaced > 0 {
		out = append(out, Plural(unplaced, "pod")+" without a node")
	}
	var reasons []string
	pods := map[string]uint64{} // by reason
	for _, b := range a.GetBlocked() {
		reason := blockedBy(b)
		if pods[reason] == 0 {
			reasons = append(reasons, reason)
		}
		pods[reason] += uint64(b.GetPod().GetCount())
	}
	for _, reason := range reasons {
		out = append(out, Plural(pods[reason], "pod")+" "+reason)
	}
	switch {
	case a.GetStatus() == stowagev1.DrainStatus_DRAIN_STATUS_DRAINED:
		out = append(out, "drained")
	case len(out) > 0:
	case a.GetStatus() == stowagev1.DrainStatus_DRAIN_STATUS_UNPLACED && !a.GetTruncated():
		out = append(out, "pods that came back are preempted again")
	case a.GetStatus() == stowagev1.DrainStatus_DRAIN_STATUS_UNPLACED:
		out = append(out, "pods without a node")
	default:
		out = append(out, "blocked")
	}
	preempted := uint64(0)
	for _, p := range a.GetPreempted() {
		preempted += uint64(p.GetCount())
	}
	if preempted > 0 {
		out = append(out, Plural(preempted, "pod")+" preempted")
	}
	return strings.Join(out, ", ")
}

// blockedBy is why pods cannot be evicted, in a few words.
func blockedBy(b *stowagev1.BlockedPod) string {
	switch b.GetReason() {
	case stowagev1.BlockedReason_BLOCKED_REASON_BUDGET:
		return "blocked by budget " + budgets(b)
	case stowagev1.BlockedReason_BLOCKED_REASON_SEVERAL_BUDGETS:
		return "blocked by several budgets"
	case stowagev1.BlockedReason_BLOCKED_REASON_NO_CONTROLLER:
		return "without a controller"
	case stowagev1.BlockedReason_BLOCKED_REASON_EMPTY_DIR:
		return "with emptyDir data"
	case stowagev1.BlockedReason_BLOCKED_REASON_DAEMON_SET_GONE:
		return "of a DaemonSet that does not exist"
	case stowagev1.BlockedReason_BLOCKED_REASON_DAEMON_SET:
		return "of a DaemonSet"
	case stowagev1.BlockedReason_BLOCKED_REASON_OUTDATED_BUDGET:
		return "blocked by outdated budget " + budgets(b)
	default:
		return "blocked"
	}
}

// WhyUnplaced is why replacements have no node.
func WhyUnplaced(u *stowagev1.UnplacedPod) string {
	if u.GetUnknown() {
		return "the cluster does not say what its controller creates"
	}
	return u.GetMessage()
}

// WhyBlocked is why pods cannot be evicted.
func WhyBlocked(b *stowagev1.BlockedPod) string {
	switch b.GetReason() {
	case stowagev1.BlockedReason_BLOCKED_REASON_BUDGET:
		return "PodDisruptionBudget " + budgets(b) + " allows no further disruption"
	case stowagev1.BlockedReason_BLOCKED_REASON_SEVERAL_BUDGETS:
		return "the API server evicts no pod that several PodDisruptionBudgets select: " + budgets(b)
	case stowagev1.BlockedReason_BLOCKED_REASON_NO_CONTROLLER:
		return "no controller would create it again; --force evicts it"
	case stowagev1.BlockedReason_BLOCKED_REASON_EMPTY_DIR:
		return "the data in its emptyDir volume would be lost; --delete-emptydir-data evicts it"
	case stowagev1.BlockedReason_BLOCKED_REASON_DAEMON_SET_GONE:
		return "its DaemonSet does not exist; --force evicts it"
	case stowagev1.BlockedReason_BLOCKED_REASON_DAEMON_SET:
		return "its DaemonSet would create it again on the node; --ignore-daemonsets leaves it there"
	case stowagev1.BlockedReason_BLOCKED_REASON_OUTDATED_BUDGET:
		return "the status of PodDisruptionBudget " + budgets(b) + " is older than its spec, and allows no disruption until it is updated"
	default:
		return "blocked"
	}
}

func budgets(b *stowagev1.BlockedPod) string {
	var out []string
	for _, n := range b.GetBudgets() {
		out = append(out, n.GetNamespace()+"/"+n.GetName())
	}
	return Names(out)
}

// NodeCounts lists nodes, each once with how often it is there.
func NodeCounts(nodes *stowagev1.NodeList) string {
	return strings.Join(WithCounts(nodes.GetNames()), ", ")
}

// WhyKept is why a node is left, in a few words.
func WhyKept(k *stowagev1.KeptNode) string {
	switch k.GetReason() {
	case stowagev1.KeptReason_KEPT_REASON_PODS:
		return Result(k.GetDrain())
	case stowagev1.KeptReason_KEPT_REASON_PODS_RETURN:
		return "pods come back to it while it is cordoned"
	case stowagev1.KeptReason_KEPT_REASON_PRICE:
		return "its price is 0"
	case stowagev1.KeptReason_KEPT_REASON_LIMIT:
		return "it can be drained, but a limit ended the search"
	default:
		return "left"
	}
}
