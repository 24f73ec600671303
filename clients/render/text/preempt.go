package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// writePreempt writes the response to a PreemptRequest. nominated is as in WritePreemption.
func (x *Explanation) writePreempt(w io.Writer, nominated string, a *stowagev1.PreemptResponse) {
	if nodes := a.GetFeasibleNodes().GetIndexes(); len(nodes) > 0 {
		var names []string
		for _, n := range nodes {
			names = append(names, x.Node(n))
		}
		WriteWrapped(w, "", fmt.Sprintf("The pod needs no preemption: %s can take it.", words.Names(names)), x.Width)
		return
	}
	WriteWrapped(w, "", a.GetMessage(), x.Width)
	x.WritePreemption(w, nominated, a.GetPreemption())
	x.writeSafe(w, a.GetSafe())
	x.writeAcross(w, a.GetAcrossNodes())
}

// writeSafe writes whether the victims of kube-scheduler have another node, and which ones do.
func (x *Explanation) writeSafe(w io.Writer, p *stowagev1.SafePreemption) {
	if p == nil {
		return
	}
	fmt.Fprintln(w)
	if p.GetInVain() != "" {
		WriteWrapped(w, "", "These evictions are in vain: "+p.GetInVain(), x.Width)
	}
	for _, r := range p.GetUnsafe() {
		WriteWrapped(w, "", x.Homeless(r), x.Width)
	}
	switch c := p.GetCandidate(); {
	case c == nil && p.GetTruncated():
		text := fmt.Sprintf("Safe preemption: none of the %d candidates examined; others were not.", p.GetExaminedCount())
		WriteWrapped(w, "", text, x.Width)
	case c == nil:
		WriteWrapped(w, "", "Safe preemption: there is none.", x.Width)
	default:
		WriteWrapped(w, "", fmt.Sprintf("Safe preemption: evict %s%s.", x.Leaving(c.GetVictims(), words.List), words.Violations(c)), x.Width)
	}
	for _, r := range p.GetReplacements() {
		WriteWrapped(w, "  ", x.Returns(r), x.Width)
	}
}

// writeAcross writes the victims on any nodes.
func (x *Explanation) writeAcross(w io.Writer, p *stowagev1.AcrossNodes) {
	if p == nil {
		return
	}
	fmt.Fprintln(w)
	proof := "no others cost less"
	if !p.GetProven() {
		proof = fmt.Sprintf("the search ended after %d steps, and others may cost less", p.GetSteps())
	}
	switch c := p.GetCandidate(); {
	case c != nil:
		WriteWrapped(w, "", fmt.Sprintf("On any nodes: without %s%s, %s takes the pod; %s.",
			x.Pods(c.GetVictims()), words.Violations(c), x.Node(c.GetNodeIndex()), proof), x.Width)
	case p.GetProven():
		WriteWrapped(w, "", "On any nodes: no victims of lower priority make a node feasible.", x.Width)
	default:
		WriteWrapped(w, "", fmt.Sprintf("On any nodes: the search ended after %d steps and found no victims.", p.GetSteps()), x.Width)
	}
}
