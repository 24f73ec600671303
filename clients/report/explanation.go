package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Explanation writes an explanation: everything that keeps a pod from each node.
type Explanation struct {
	Cluster *stowagev1.Cluster
	// PodName names a conflicting pod; nil for its own name.
	PodName func(*stowagev1.PodReference) string
	// Whole is what changes do for all pods of the workload; nil if that is not known.
	Whole *Whole
	// Rollout is how the rollout goes on that creates the pod; nil if none is under way.
	Rollout *whatif.Rollout
	// Returning is what becomes of the pods that changes take off their nodes, where that is known.
	Returning map[*stowagev1.Change]*Returning
	// Counting says that changes are about how many pods fit. A request that leaves room for one more pod beside the others is not the
	// highest then: with it, the others take less, too.
	Counting bool
	// Advice is changes of the workload that place the pod, in words.
	Advice []string
	// NoPreemption says that the profile has no preemption.
	NoPreemption bool
	Width        int
	Ink          Ink
}

// Write writes what each node fails in. Explain has the rest.
func (x *Explanation) Write(w io.Writer, e *stowagev1.Explanation) {
	if len(e.GetFailingChecks()) > 0 {
		fmt.Fprintln(w, "\nFailing checks, each plugin asked on its own:")
		rows := [][]string{{"NODES", "REASON", "PLUGIN", "WHICH"}}
		for _, r := range e.FailingChecks {
			rows = append(rows, rejection(r)...)
		}
		tableWithin(w, x.Width, rows...)
	}
	for _, c := range e.GetTopologyCounts() {
		x.counts(w, c, companions(e))
	}
	if len(e.GetUntoleratedTaints()) > 0 {
		fmt.Fprintln(w, "\nUntolerated taints:")
		rows := [][]string{{"TAINT", "NODES", "WHICH"}}
		for _, t := range e.UntoleratedTaints {
			nodes := t.GetNodes().GetNames()
			rows = append(rows, []string{Taint(t.GetTaint()), fmt.Sprint(len(nodes)), Names(nodes)})
		}
		tableWithin(w, x.Width, rows...)
	}
	if len(e.GetResourceShortages()) > 0 {
		fmt.Fprintln(w, "\nShortages:")
		rows := [][]string{{"NODE", "RESOURCE", "REQUESTED", "IN USE", "ALLOCATABLE", "MISSING"}}
		for _, s := range e.ResourceShortages {
			rows = append(rows, []string{
				x.node(s.GetNodeIndex()), s.GetResource(), Quantity(s.GetResource(), s.GetRequested()),
				Quantity(s.GetResource(), s.GetUsed()), Quantity(s.GetResource(), s.GetAllocatable()), missing(s),
			})
		}
		tableWithin(w, x.Width, rows...)
	}
	if len(e.GetHostPortConflicts()) > 0 {
		fmt.Fprintln(w, "\nHost ports taken:")
		rows := [][]string{{"NODE", "PORT", "POD"}}
		for _, c := range e.HostPortConflicts {
			rows = append(rows, []string{x.node(c.GetNodeIndex()), fmt.Sprint(c.GetPort()), x.pod(c.GetHolder())})
		}
		tableWithin(w, x.Width, rows...)
	}
}

// counts writes the counts of one rule. with is as of companions.
func (x *Explanation) counts(w io.Writer, c *stowagev1.TopologyCounts, with string) {
	title := fmt.Sprintf("%s by %s", Rule(c.GetRule()), c.GetTopologyKey())
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
		rows = append(rows, append(row, feasible, Names(d.GetNodes().GetNames()), x.pods(d.GetConflictingPods())))
	}
	tableWithin(w, x.Width, rows...)
	for _, u := range c.GetUncountedNodes() {
		quote.Fprintf(w, "not counted, %s: %s\n", Uncounted(u.GetReason()), Names(u.GetNodes().GetNames()))
	}
}

func (x *Explanation) pods(ps []*stowagev1.PodReference) string {
	var out []string
	for _, p := range ps {
		out = append(out, x.pod(p)+" on "+x.node(p.GetNodeIndex()))
	}
	return strings.Join(out, ", ")
}

// Pods names pods.
func (x *Explanation) Pods(ps []*stowagev1.PodReference) string { return x.pods(ps) }

func (x *Explanation) pod(p *stowagev1.PodReference) string {
	out := p.GetNamespace() + "/" + x.name(p)
	if p.GetCount() > 1 {
		out += fmt.Sprintf(" ×%d", p.GetCount())
	}
	return out
}

func (x *Explanation) name(p *stowagev1.PodReference) string {
	if x.PodName != nil {
		return x.PodName(p)
	}
	return podName(x.Cluster, p)
}

// podName returns a pod's name, or the properties of one that is only counted.
func podName(c *stowagev1.Cluster, p *stowagev1.PodReference) string {
	if p.GetName() == "" {
		return TemplateName(c, p.GetTemplateIndex())
	}
	return p.GetName()
}

func (x *Explanation) node(index uint32) string {
	return x.Cluster.GetNodes()[index].GetName()
}
