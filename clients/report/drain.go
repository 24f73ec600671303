package report

import (
	"fmt"
	"io"
	"strings"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Drain renders what draining nodes leads to.
type Drain struct {
	Cluster    *stowagev1.Cluster
	Moves      bool // whether the answer has them
	LargestSet bool // whether that was asked for
	Width      int
}

// Write writes the outcome of each drain, the pods without a node, those that cannot be evicted, those that are preempted, and
// the moves.
func (d *Drain) Write(w io.Writer, parts []*stowagev1.DrainResponse) {
	x := &Explanation{Cluster: d.Cluster, Width: d.Width}
	rows := [][]string{{"NODE", "RESULT", "EVICTED", "PLACED", "STAYING"}}
	moves := [][]string{{"POD", "FROM", "TO", "ROUND"}}
	var unplaced, blocked, preempted []string
	truncated := false
	var sum *stowagev1.DrainSummary
	for _, p := range parts {
		if p.GetSummary() != nil {
			sum = p.GetSummary()
			continue
		}
		a := p.GetDrain()
		truncated = truncated || a.GetTruncated()
		rows = append(rows, []string{
			Names(a.GetNodes().GetNames()), result(a), fmt.Sprint(a.GetEvictedCount()), fmt.Sprint(a.GetPlacedCount()),
			fmt.Sprint(a.GetStayingCount()),
		})
		on := func(p *stowagev1.PodReference) string { return x.pod(p) + " on " + x.node(p.GetNodeIndex()) }
		for _, u := range a.GetUnplaced() {
			why := u.GetMessage()
			if u.GetUnknown() {
				why = "the cluster does not say what its controller creates"
			}
			unplaced = append(unplaced, on(u.GetPod())+": "+why)
		}
		for _, b := range a.GetBlocked() {
			blocked = append(blocked, on(b.GetPod())+": "+whyBlocked(b))
		}
		for _, p := range a.GetPreempted() {
			preempted = append(preempted, on(p)+", by draining "+Names(a.GetNodes().GetNames()))
		}
		for _, m := range a.GetMoves() {
			row := []string{x.pod(m.GetPod()), x.node(m.GetPod().GetNodeIndex()), nodeCounts(m.GetNodes()), fmt.Sprint(m.GetRound())}
			moves = append(moves, row)
		}
	}
	if d.LargestSet {
		d.set(w, sum)
	}
	if len(rows) > 1 {
		table(w, rows...)
	}
	d.list(w, "Without a node:", unplaced)
	d.list(w, "Not evicted:", blocked)
	d.list(w, "Preempted, and not placed again:", preempted)
	if d.Moves && len(moves) > 1 {
		fmt.Fprintln(w)
		table(w, moves...)
	}
	if truncated {
		fmt.Fprintln(w, "\nThe answer does not list all pods.")
	}
}

// set writes how many nodes can be drained one after another.
func (d *Drain) set(w io.Writer, sum *stowagev1.DrainSummary) {
	bound := fmt.Sprintf("at most %d can", sum.GetUpperBound())
	if sum.GetProven() {
		bound = "no order drains more"
	}
	WriteWrapped(w, "", fmt.Sprintf("%d of %s can be drained one after another; %s", sum.GetDrainedCount(),
		plural(uint64(sum.GetTotalCount()), "node"), bound), d.Width)
	if sum.GetDrainedCount() > 0 {
		fmt.Fprintln(w)
	}
}

func (d *Drain) list(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+title)
	for _, line := range lines {
		WriteWrapped(w, "  ", "- "+line, d.Width)
	}
}

// result is the outcome of a drain in a few words.
func result(a *stowagev1.NodeDrain) string {
	var out []string
	unplaced := uint64(0)
	for _, u := range a.GetUnplaced() {
		unplaced += uint64(u.GetPod().GetCount())
	}
	if unplaced > 0 {
		out = append(out, plural(unplaced, "pod")+" without a node")
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
		out = append(out, plural(pods[reason], "pod")+" "+reason)
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
		out = append(out, plural(preempted, "pod")+" preempted")
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
	default:
		return "blocked"
	}
}

// whyBlocked is why pods cannot be evicted.
func whyBlocked(b *stowagev1.BlockedPod) string {
	switch b.GetReason() {
	case stowagev1.BlockedReason_BLOCKED_REASON_BUDGET:
		return "PodDisruptionBudget " + budgets(b) + " allows no further disruption"
	case stowagev1.BlockedReason_BLOCKED_REASON_SEVERAL_BUDGETS:
		return "the API server evicts no pod that several PodDisruptionBudgets select: " + budgets(b)
	case stowagev1.BlockedReason_BLOCKED_REASON_NO_CONTROLLER:
		return "no controller would create it again; --force evicts it"
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

// nodeCounts lists nodes, each once with how often it is there.
func nodeCounts(nodes *stowagev1.NodeList) string {
	var order, out []string
	counts := map[string]int{}
	for _, n := range nodes.GetNames() {
		if counts[n]++; counts[n] == 1 {
			order = append(order, n)
		}
	}
	for _, n := range order {
		if counts[n] > 1 {
			n += fmt.Sprintf(" ×%d", counts[n])
		}
		out = append(out, n)
	}
	return strings.Join(out, ", ")
}
