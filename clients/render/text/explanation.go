package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Write writes what each node fails in. Explain has the rest.
func (x *Explanation) Write(w io.Writer, e *stowagev1.Explanation) {
	if len(e.GetFailingChecks()) > 0 {
		fmt.Fprintln(w, "\nFailing checks, each plugin on its own:")
		rows := [][]string{{"NODES", "REASON", "PLUGIN", "WHICH"}}
		for _, r := range e.FailingChecks {
			rows = append(rows, rejection(r)...)
		}
		tableWithin(w, x.Width, rows...)
	}
	for _, c := range e.GetTopologyCounts() {
		x.counts(w, c, words.Companions(e))
	}
	if len(e.GetUntoleratedTaints()) > 0 {
		fmt.Fprintln(w, "\nUntolerated taints:")
		rows := [][]string{{"TAINT", "NODES", "WHICH"}}
		for _, t := range e.UntoleratedTaints {
			nodes := t.GetNodes().GetNames()
			rows = append(rows, []string{words.Taint(t.GetTaint()), fmt.Sprint(len(nodes)), words.Names(nodes)})
		}
		tableWithin(w, x.Width, rows...)
	}
	if len(e.GetUndeclaredFeatures()) > 0 {
		fmt.Fprintln(w, "\nRequired features that nodes do not declare:")
		rows := [][]string{{"FEATURE", "NODES", "WHICH"}}
		for _, u := range e.UndeclaredFeatures {
			nodes := u.GetNodes().GetNames()
			rows = append(rows, []string{u.GetFeature(), fmt.Sprint(len(nodes)), words.Names(nodes)})
		}
		tableWithin(w, x.Width, rows...)
	}
	x.volumes(w, e)
	x.devices(w, e)
	if len(e.GetResourceShortages()) > 0 {
		fmt.Fprintln(w, "\nShortages:")
		rows := [][]string{{"NODE", "RESOURCE", "REQUESTED", "IN USE", "ALLOCATABLE", "MISSING"}}
		for _, s := range e.ResourceShortages {
			rows = append(rows, []string{
				x.Node(s.GetNodeIndex()), s.GetResource(), words.Quantity(s.GetResource(), s.GetRequested()),
				words.Quantity(s.GetResource(), s.GetUsed()), words.Quantity(s.GetResource(), s.GetAllocatable()), words.Missing(s),
			})
		}
		tableWithin(w, x.Width, rows...)
	}
	if len(e.GetHostPortConflicts()) > 0 {
		fmt.Fprintln(w, "\nHost ports taken:")
		rows := [][]string{{"NODE", "PORT", "POD"}}
		for _, c := range e.HostPortConflicts {
			rows = append(rows, []string{x.Node(c.GetNodeIndex()), fmt.Sprint(c.GetPort()), x.Pod(c.GetHolder())})
		}
		tableWithin(w, x.Width, rows...)
	}
}

// counts writes the counts of one rule. with is as of companions.
func (x *Explanation) counts(w io.Writer, c *stowagev1.TopologyCounts, with string) {
	title := fmt.Sprintf("%s by %s", words.Rule(c.GetRule()), c.GetTopologyKey())
	if c.GetSelector() != "" {
		title += " with pods " + c.GetSelector()
	}
	spread, hard := c.GetMaxSkew() > 0, c.GetRule() == stowagev1.TopologyRule_TOPOLOGY_RULE_HARD_SPREAD
	if spread {
		title += fmt.Sprintf(", maxSkew %d", c.GetMaxSkew())
	}
	if c.GetMinDomains() > 1 {
		title += fmt.Sprintf(", minDomains %d", c.GetMinDomains())
	}
	if hard {
		title += fmt.Sprintf(", minimum %d", c.GetMinimum())
	}
	if spread && !c.GetSelfMatch() {
		title += ", the pod itself does not count"
	}
	if c.GetRule() == stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY && with != "pods of "+c.GetSelector() {
		title += ", counting pods that match all affinity terms"
	}
	if c.GetRule() == stowagev1.TopologyRule_TOPOLOGY_RULE_POD_AFFINITY && c.GetSelfMatch() {
		title += ", the pod matches it itself"
	}
	fmt.Fprintln(w, "\n"+quote.Line(title)+":")
	heading := []string{"DOMAIN", "PODS"}
	if hard {
		heading = append(heading, "SKEW")
	}
	rows := [][]string{append(heading, "FEASIBLE", "NODES", "IN THE WAY")}
	for _, d := range c.GetDomains() {
		row := []string{d.GetValue(), fmt.Sprint(d.GetMatchingPods())}
		if hard {
			row = append(row, fmt.Sprint(d.GetSkew()))
		}
		feasible := "no"
		if d.GetFeasible() {
			feasible = "yes"
		}
		rows = append(rows, append(row, feasible, words.Names(d.GetNodes().GetNames()), x.Pods(d.GetConflictingPods())))
	}
	tableWithin(w, x.Width, rows...)
	for _, u := range c.GetUncountedNodes() {
		quote.Fprintf(w, "not counted, %s: %s\n", words.Uncounted(u.GetReason()), words.Names(u.GetNodes().GetNames()))
	}
}

// Explanation lays out an explanation.
type Explanation struct {
	*words.Explanation
	Width int
	Ink   Ink
}
