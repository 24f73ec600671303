package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Preemption says in one line which pods kube-scheduler would evict for a pod. It is empty if there are none.
func (x *Explanation) Preemption(p *stowagev1.Preemption) string {
	n := p.GetNominated()
	if n == nil {
		return ""
	}
	return "kube-scheduler would evict " + x.leaving(n.GetVictims(), Names) + violations(n)
}

// WriteOutcome writes Preemption in lines of at most Width, nothing if it is empty.
func (x *Explanation) WriteOutcome(w io.Writer, indent string, p *stowagev1.Preemption) {
	if text := x.Preemption(p); text != "" {
		WriteWrapped(w, indent, text, x.Width)
	}
}

// WritePreemption writes whether kube-scheduler would preempt, its victims, and why it would not on other nodes. nominated is
// the pod's nominated node, "" if it has none.
func (x *Explanation) WritePreemption(w io.Writer, nominated string, p *stowagev1.Preemption) {
	x.writeVictims(w, nominated, p)
	x.writeUnhelpful(w, p)
}

// writeVictims writes whether kube-scheduler would preempt, and its victims.
func (x *Explanation) writeVictims(w io.Writer, nominated string, p *stowagev1.Preemption) {
	if x.NoPreemption {
		x.WriteNoPreemption(w, "the profile has no preemption")
		return
	}
	if p == nil {
		return
	}
	if n := p.GetNominated(); n != nil {
		fmt.Fprintln(w)
		to := "it"
		if slices.ContainsFunc(n.GetVictims(), func(v *stowagev1.PodReference) bool { return v.GetNodeIndex() != n.GetNodeIndex() }) {
			to = x.node(n.GetNodeIndex())
		}
		text := fmt.Sprintf("Preemption: kube-scheduler would evict %s%s, and nominate the pod to %s.",
			x.leaving(n.GetVictims(), allNames), violations(n), to)
		if best := p.GetBestNodes().GetIndexes(); len(best) > 1 {
			var others []string
			for _, i := range best[1:] {
				others = append(others, x.node(i))
			}
			text += " It might as well take " + Names(others) + "."
		}
		WriteWrapped(w, "", text, x.Width)
	} else {
		x.WriteNoPreemption(w, whyNone(p))
	}
	if nominated != "" && p.GetClearsNomination() {
		WriteWrapped(w, "", "It clears status.nominatedNodeName, which is "+nominated+".", x.Width)
	}
}

// writeUnhelpful writes why evictions on nodes do not help.
func (x *Explanation) writeUnhelpful(w io.Writer, p *stowagev1.Preemption) {
	if len(p.GetRejections()) == 0 {
		return
	}
	fmt.Fprintln(w, "\nWhere evictions do not help:")
	rows := [][]string{{"NODES", "REASON", "PLUGIN", "WHICH"}}
	for _, r := range p.Rejections {
		rows = append(rows, rejection(r)...)
	}
	tableWithin(w, x.Width, rows...)
}

// WriteNoPreemption writes that kube-scheduler would not preempt, and why if that is not empty.
func (x *Explanation) WriteNoPreemption(w io.Writer, why string) {
	text := "Preemption: kube-scheduler would evict no pod"
	if why != "" {
		text += ": " + why
	}
	fmt.Fprintln(w)
	WriteWrapped(w, "", text+".", x.Width)
}

// stateless is the text of kube-scheduler's event about PostFilter where PreFilter rejects a pod as a whole. DynamicResources
// did not store the state that its PostFilter reads (pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
// PostFilter, v1.37).
const stateless = "not found"

// whyNone returns why kube-scheduler preempts no pod, "" if that differs between nodes.
func whyNone(p *stowagev1.Preemption) string {
	switch {
	case len(p.GetRejections()) > 0:
		return ""
	case p.GetMessage() == stateless:
		return `PreFilter rejects the pod as a whole, so that no victims are looked for; "not found" is an error of DynamicResources`
	}
	return strings.TrimSuffix(strings.TrimPrefix(p.GetMessage(), "preemption: "), ".")
}

func (x *Explanation) victims(pods []*stowagev1.PodReference) []string {
	var out []string
	for _, v := range pods {
		out = append(out, x.pod(v))
	}
	return out
}

// leaving lists pods with the nodes that they leave, which are several if a pod group leaves as a whole. list shortens the names.
func (x *Explanation) leaving(pods []*stowagev1.PodReference, list func([]string) string) string {
	var nodes []uint32
	on := make(map[uint32][]string)
	for _, p := range pods {
		n := p.GetNodeIndex()
		if on[n] == nil {
			nodes = append(nodes, n)
		}
		on[n] = append(on[n], x.pod(p))
	}
	if len(nodes) > maximumNames {
		return fmt.Sprintf("%s from %d nodes", list(x.victims(pods)), len(nodes))
	}
	var parts []string
	for _, n := range nodes {
		parts = append(parts, list(on[n])+" from "+x.node(n))
	}
	return strings.Join(parts, ", and ")
}

func allNames(all []string) string { return strings.Join(all, ", ") }

func violations(c *stowagev1.PreemptionCandidate) string {
	switch n := c.GetPdbViolations(); {
	case n == 0:
		return ""
	case len(c.GetVictims()) == 1 && uint64(c.Victims[0].GetCount()) == n:
		return ", against a PodDisruptionBudget"
	default:
		return fmt.Sprintf(", %d of them against a PodDisruptionBudget", n)
	}
}

// beyond returns the changes that preemption does not make anyway.
func beyond(changes []*stowagev1.Change, p *stowagev1.Preemption) []*stowagev1.Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c *stowagev1.Change) bool {
		gone := c.GetVictims().GetPods()
		return len(gone) > 0 && !slices.ContainsFunc(gone, func(g *stowagev1.PodReference) bool {
			return !slices.ContainsFunc(p.GetNominated().GetVictims(), func(v *stowagev1.PodReference) bool { return within(g, v) })
		})
	})
}

// within reports whether a reference is to pods that another is to. Pods without names are counted.
func within(g, v *stowagev1.PodReference) bool {
	alike := proto.CloneOf(g)
	alike.Count = v.GetCount()
	return g.GetCount() <= v.GetCount() && proto.Equal(alike, v)
}
