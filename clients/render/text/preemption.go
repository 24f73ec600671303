package text

import (
	"fmt"
	"io"
	"slices"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

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
			to = x.Node(n.GetNodeIndex())
		}
		text := fmt.Sprintf("Preemption: kube-scheduler would evict %s%s, and nominate the pod to %s.",
			x.Leaving(n.GetVictims(), words.List), words.Violations(n), to)
		if best := p.GetBestNodes().GetIndexes(); len(best) > 1 {
			var others []string
			for _, i := range best[1:] {
				others = append(others, x.Node(i))
			}
			text += " It might as well take " + words.Names(others) + "."
		}
		WriteWrapped(w, "", text, x.Width)
	} else {
		x.WriteNoPreemption(w, words.WhyNone(p))
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
