package text

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Explain renders the answer about one pod: first the verdict, why, and what would change it; then the nodes by reason. Verbose adds
// every failing check, the counts by domain, and what each node lacks.
type Explain struct {
	Explanation
	Nominated string // the pod's nominated node, "" if it has none
	Verbose   bool
	// Caveat completes a yes that is not sure.
	Caveat string
	// After is what becomes of the pod after other pending pods; nil if they do not count.
	After *words.After
}

// Write writes the answer.
func (x *Explain) Write(w io.Writer, a *stowagev1.FilterResponse) {
	feasible := a.GetFeasibleNodes().GetNames()
	fmt.Fprintln(w, x.Ink.Verdict(x.Good(a), filled(x.Verdict(a), x.Width)))
	if x.After.String() != "" {
		if first := x.After.First; first != nil {
			x.WriteWhy(w, "", first.GetExplanation())
			fmt.Fprintln(w)
			x.WriteChanges(w, "", x.After.Unplaced, first.GetChanges(), first.GetPreemption())
			fmt.Fprintln(w, "\nBefore the other pending pods:")
		}
		WriteWrapped(w, "", x.Now(a), x.Width)
	}
	if x.After.Later() != "" {
		fmt.Fprintln(w, "\nBefore the other pending pods:")
		WriteWrapped(w, "", x.Now(a), x.Width)
	}
	x.WriteWhy(w, "", a.GetExplanation())
	if text := words.UnderWay(x.Rollout); text != "" {
		WriteWrapped(w, "", text, x.Width)
	}
	rejected := len(x.Cluster.GetNodes()) > 0 && !a.GetInternalError() && len(feasible) == 0 // kube-scheduler runs PostFilter
	if rejected || !x.NoPreemption {
		x.writeVictims(w, x.Nominated, a.GetPreemption())
	}
	if len(feasible) == 0 && x.After.Later() == "" {
		fmt.Fprintln(w)
		x.WriteChanges(w, "", 1, a.GetChanges(), a.GetPreemption())
	}
	if rows := verdicts(a); len(rows) > 1 {
		fmt.Fprintln(w)
		tableWithin(w, x.Width, rows...)
	}
	x.WriteChecks(w, a)
}

// WriteChecks writes every failing check with Verbose, or says that it would.
func (x *Explain) WriteChecks(w io.Writer, a *stowagev1.FilterResponse) {
	if checks := x.Checks(a); x.Verbose && checks != "" {
		fmt.Fprintln(w, "\n"+checks)
	} else if len(a.GetExplanation().GetFailingChecks()) > 0 {
		fmt.Fprintln(w, "\n-v lists every failing check, and what each node lacks.")
	}
}

// Good reports whether the pod has a node.
func (x *Explain) Good(a *stowagev1.FilterResponse) bool {
	feasible := len(a.GetFeasibleNodes().GetIndexes()) > 0 && a.GetMessage() == ""
	return (feasible || x.After.Later() != "") && x.After.String() == ""
}

// Verdict is After, or else Now.
func (x *Explain) Verdict(a *stowagev1.FilterResponse) string {
	text := cmp.Or(x.After.String(), x.After.Later(), x.Now(a))
	if x.Good(a) && x.After.String() == "" || x.After.Later() != "" {
		text += x.Caveat
	}
	return text
}

// Now says which nodes can take the pod before other pending pods, or in kube-scheduler's words why none can.
func (x *Explain) Now(a *stowagev1.FilterResponse) string {
	if text := a.GetMessage(); text != "" {
		return text
	}
	feasible := a.GetFeasibleNodes().GetNames()
	return fmt.Sprintf("%d of %s can take it: %s", len(feasible), words.Plural(uint64(len(x.Cluster.GetNodes())), "node"), words.Names(feasible))
}

// Checks is every failing check, the counts by domain, and what each node lacks; empty if there are none.
func (x *Explain) Checks(a *stowagev1.FilterResponse) string {
	var out strings.Builder
	x.Explanation.Write(&out, a.GetExplanation())
	x.writeUnhelpful(&out, a.GetPreemption())
	return strings.TrimSpace(out.String())
}
