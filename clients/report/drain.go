package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Drain renders what draining nodes leads to.
type Drain struct {
	Cluster    *stowagev1.Cluster
	Moves      bool // whether the answer has them
	LargestSet bool // whether that was asked for
	// Verbose lists every node, also if there are many.
	Verbose bool
	Width   int
	Ink     Ink
	// Caveat completes a yes that is not sure.
	Caveat string
}

// List is lines of one kind.
type List struct {
	Title string
	Lines []string
}

// Write writes the outcome of each drain, the pods without a node, those that cannot be evicted, those that are preempted, and
// the moves. Pods of one controller with one answer are one line.
func (d *Drain) Write(w io.Writer, parts []*stowagev1.DrainResponse) {
	drains := drainsOf(parts)
	if d.LargestSet || len(drains) > 1 {
		good := Drained(drains) == len(drains)
		fmt.Fprintln(w, d.Ink.Verdict(good, filled(d.Verdict(parts), d.Width)))
		if len(drains) > 0 {
			fmt.Fprintln(w)
		}
	}
	d.drains(w, drains)
	for _, l := range d.Lists(parts) {
		d.list(w, l.Title+":", l.Lines)
	}
	if d.Moves {
		d.writeMoves(w, drains)
	}
	if slices.ContainsFunc(drains, (*stowagev1.NodeDrain).GetTruncated) {
		fmt.Fprintln(w, "\nThe answer does not list all pods.")
	}
}

// writeMoves writes the pods that move.
func (d *Drain) writeMoves(w io.Writer, drains []*stowagev1.NodeDrain) {
	if rows := d.moveRows(drains); len(rows) > 0 {
		fmt.Fprintln(w)
		tableWithin(w, d.Width, append([][]string{{"POD", "FROM", "TO", "ROUND"}}, rows...)...)
	}
}

func drainsOf(parts []*stowagev1.DrainResponse) []*stowagev1.NodeDrain {
	var out []*stowagev1.NodeDrain
	for _, p := range parts {
		if a := p.GetDrain(); a != nil {
			out = append(out, a)
		}
	}
	return out
}

// Lists are the pods without a node, those that cannot be evicted, and those that are preempted, with what is said of them.
func (d *Drain) Lists(parts []*stowagev1.DrainResponse) []List {
	x := &Explanation{Cluster: d.Cluster}
	var unplaced, blocked, preempted []together
	for _, a := range drainsOf(parts) {
		for _, u := range a.GetUnplaced() {
			unplaced = append(unplaced, one(u.GetPod(), ": "+whyUnplaced(u)))
		}
		for _, b := range a.GetBlocked() {
			blocked = append(blocked, one(b.GetPod(), ": "+whyBlocked(b)))
		}
		for _, p := range a.GetPreempted() {
			preempted = append(preempted, one(p, ", by draining "+Names(a.GetNodes().GetNames())))
		}
	}
	return []List{
		{"Without a node", x.lines(unplaced)}, {"Not evicted", x.lines(blocked)}, {"Preempted", x.lines(preempted)},
	}
}

// MoveRows are the pods that move, with their node, their new ones, and the round.
func (d *Drain) MoveRows(parts []*stowagev1.DrainResponse) [][]string {
	return d.moveRows(drainsOf(parts))
}

func (d *Drain) moveRows(drains []*stowagev1.NodeDrain) [][]string {
	x := &Explanation{Cluster: d.Cluster}
	var moves []together
	for _, a := range drains {
		for _, m := range a.GetMoves() {
			cells := []string{x.node(m.GetPod().GetNodeIndex()), nodeCounts(m.GetNodes()), fmt.Sprint(m.GetRound())}
			moves = append(moves, one(m.GetPod(), strings.Join(cells, "\t")))
		}
	}
	var out [][]string
	for _, t := range x.gather(moves) {
		out = append(out, append([]string{t.who(x)}, strings.Split(t.text, "\t")...))
	}
	return out
}

// Who names pods on a node by what they are counted as.
func (d *Drain) Who(p *stowagev1.PodReference) string {
	_, name, _ := strings.Cut((&Explanation{Cluster: d.Cluster}).reference(p), "/")
	return name
}

// Verdict says how many nodes can be drained, and what makes that unsure.
func (d *Drain) Verdict(parts []*stowagev1.DrainResponse) string {
	text := d.outcome(parts)
	if Drained(drainsOf(parts)) > 0 {
		text += d.Caveat
	}
	return text
}

// outcome says how many nodes can be drained.
func (d *Drain) outcome(parts []*stowagev1.DrainResponse) string {
	drains := drainsOf(parts)
	if d.LargestSet {
		for _, p := range parts {
			if sum := p.GetSummary(); sum != nil {
				return ofSet(sum)
			}
		}
	}
	if len(drains) != 1 {
		return fmt.Sprintf("%d of %s can be drained, each alone", Drained(drains), plural(uint64(len(drains)), "node"))
	}
	which := Names(drains[0].GetNodes().GetNames())
	switch {
	case Drained(drains) == 0:
		return which + " cannot be drained"
	case len(drains[0].GetNodes().GetNames()) > 1:
		return which + " can be drained together"
	}
	return which + " can be drained"
}

// Drained is the number of drains that succeed.
func Drained(drains []*stowagev1.NodeDrain) int {
	n := 0
	for _, a := range drains {
		if a.GetStatus() == stowagev1.DrainStatus_DRAIN_STATUS_DRAINED {
			n++
		}
	}
	return n
}

// maximumDrains is the number of drains up to which each has a row.
const maximumDrains = 20

// drains writes the drains, those with one result together if there are many.
func (d *Drain) drains(w io.Writer, all []*stowagev1.NodeDrain) {
	if len(all) == 0 {
		return
	}
	rows := [][]string{{"NODE", "RESULT", "EVICTED", "PLACED", "STAYING"}}
	counts := func(all ...*stowagev1.NodeDrain) []string {
		var evicted, placed, staying uint64
		for _, a := range all {
			evicted += uint64(a.GetEvictedCount())
			placed += uint64(a.GetPlacedCount())
			staying += uint64(a.GetStayingCount())
		}
		return []string{fmt.Sprint(evicted), fmt.Sprint(placed), fmt.Sprint(staying)}
	}
	if d.Verbose || len(all) <= maximumDrains {
		for _, a := range all {
			rows = append(rows, append([]string{Names(a.GetNodes().GetNames()), Result(a)}, counts(a)...))
		}
		tableWithin(w, d.Width, rows...)
		return
	}
	rows = [][]string{{"NODES", "RESULT", "EVICTED", "PLACED", "STAYING", "WHICH"}}
	var order []string
	byResult := map[string][]*stowagev1.NodeDrain{}
	for _, a := range all {
		r := Result(a)
		if byResult[r] == nil {
			order = append(order, r)
		}
		byResult[r] = append(byResult[r], a)
	}
	for _, r := range order {
		var nodes []string
		for _, a := range byResult[r] {
			nodes = append(nodes, a.GetNodes().GetNames()...)
		}
		row := append([]string{fmt.Sprint(len(nodes)), r}, counts(byResult[r]...)...)
		rows = append(rows, append(row, Names(nodes)))
	}
	tableWithin(w, d.Width, rows...)
}

// ofSet says how many nodes can be drained one after another.
func ofSet(sum *stowagev1.DrainSummary) string {
	bound := fmt.Sprintf("at most %d can", sum.GetUpperBound())
	if sum.GetProven() {
		bound = "no order drains more"
	}
	return fmt.Sprintf("%d of %s can be drained one after another; %s", sum.GetDrainedCount(),
		plural(uint64(sum.GetTotalCount()), "node"), bound)
}

func (d *Drain) list(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+quote.Line(title))
	for _, line := range lines {
		WriteWrapped(w, "  ", "- "+line, d.Width)
	}
}

// Result is the outcome of a drain in a few words.
func Result(a *stowagev1.NodeDrain) string {
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

// whyUnplaced is why pods that come back have no node.
func whyUnplaced(u *stowagev1.UnplacedPod) string {
	if u.GetUnknown() {
		return "the cluster does not say what its controller creates"
	}
	return u.GetMessage()
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

// nodeCounts lists nodes, each once with how often it is there.
func nodeCounts(nodes *stowagev1.NodeList) string {
	return strings.Join(withCounts(nodes.GetNames()), ", ")
}
