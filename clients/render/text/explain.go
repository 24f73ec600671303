package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/clients/answer/explain"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/remedy"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Width is a width of lines that suits most readers.
const Width = 100

// Style is how text is laid out.
type Style struct {
	Width int
	Ink   Ink
	// Verbose adds tables that explain an answer.
	Verbose bool
	// Moves lists the pods that move.
	Moves bool
}

// Explain writes the answers about pods, with the heading of each if the question named targets.
func Explain(w io.Writer, a *explain.Answer, s Style) {
	for i, p := range a.Pods {
		if i > 0 {
			fmt.Fprintln(w)
		}
		switch {
		case len(p.Pending) == 0:
			s.running(w, p)
		case p.Pending[0].Message != "":
			s.heading(w, a, p)
			fmt.Fprintln(w, s.Ink.Verdict(false, quote.Line(p.Response.GetMessage())))
		default:
			s.heading(w, a, p)
			s.pending(w, p)
		}
		Doubts(w, &p.Doubts, s.Width)
	}
}

func (s *Style) heading(w io.Writer, a *explain.Answer, p *explain.Pod) {
	if !a.Single {
		fmt.Fprintln(w, quote.Line(p.Heading()))
	}
}

// explanation lays out the explanation of an answer.
func (s *Style) explanation(of *words.Explanation) *Explanation {
	return &Explanation{Explanation: of, Width: s.Width, Ink: s.Ink}
}

// pending writes the answer about a pending pod: first the verdict, why, and what would change it; then the nodes by reason. Verbose adds
// every failing check, the counts by domain, and what each node lacks.
func (s *Style) pending(w io.Writer, p *explain.Pod) {
	x, a := s.explanation(p.Words), p.Response
	feasible := a.GetFeasibleNodes().GetNames()
	fmt.Fprintln(w, s.Ink.Verdict(p.Good(), filled(p.Verdict(), s.Width)))
	if p.After.String() != "" {
		if first := p.After.First; first != nil {
			x.WriteWhy(w, "", first.GetExplanation())
			fmt.Fprintln(w)
			x.WriteChanges(w, "", p.After.Unplaced, first.GetChanges(), first.GetPreemption())
			fmt.Fprintln(w, "\nBefore the other pending pods:")
		}
		WriteWrapped(w, "", p.Now(), s.Width)
	}
	if p.After.Later() != "" {
		fmt.Fprintln(w, "\nBefore the other pending pods:")
		WriteWrapped(w, "", p.Now(), s.Width)
	}
	for _, given := range p.Given() {
		WriteWrapped(w, "", given, s.Width)
	}
	x.WriteWhy(w, "", a.GetExplanation())
	if text := words.UnderWay(p.Words.Rollout); text != "" {
		WriteWrapped(w, "", text, s.Width)
	}
	rejected := len(p.Words.Cluster.GetNodes()) > 0 && !a.GetInternalError() && len(feasible) == 0 // kube-scheduler runs PostFilter
	if rejected || !p.Words.NoPreemption {
		x.writeVictims(w, p.Pending[0].Pods.GetPod().GetNominatedNodeName(), a.GetPreemption())
	}
	if len(feasible) == 0 && p.After.Later() == "" {
		fmt.Fprintln(w)
		x.WriteChanges(w, "", 1, a.GetChanges(), a.GetPreemption())
	}
	if rows := verdicts(a); len(rows) > 1 {
		fmt.Fprintln(w)
		tableWithin(w, s.Width, rows...)
	}
	s.checks(w, p)
}

// checks writes every failing check with Verbose, else how to see them.
func (s *Style) checks(w io.Writer, p *explain.Pod) {
	if checks := Checks(p, *s); s.Verbose && checks != "" {
		fmt.Fprintln(w, "\n"+checks)
	} else if len(p.Response.GetExplanation().GetFailingChecks()) > 0 {
		fmt.Fprintln(w, "\n-v lists every failing check, and what each node lacks.")
	}
}

// Checks is every failing check, the counts by domain, and what each node lacks; empty if there are none.
func Checks(p *explain.Pod, s Style) string {
	var out strings.Builder
	x := s.explanation(p.Words)
	x.Write(&out, p.Response.GetExplanation())
	x.writeUnhelpful(&out, p.Response.GetPreemption())
	return strings.TrimSpace(out.String())
}

// running writes whether a pod on a node could move: whether another node is feasible and whether the present one still is, and the
// verdicts. The present node is marked.
func (s *Style) running(w io.Writer, p *explain.Pod) {
	heading := fmt.Sprintf("%s/%s on %s", p.On.Object.Namespace, p.On.Object.Name, p.Node())
	if p.Kind != "Pod" {
		heading += ", as no pod of " + p.Text + " is pending"
	}
	a := p.Response
	if a.GetMessage() != "" && len(a.GetRejections()) == 0 { // its kubelet made it
		quote.Fprintf(w, "%s/%s on %s:\n%s\n", p.On.Object.Namespace, p.On.Object.Name, p.Node(), a.GetMessage())
		return
	}
	quote.Fprintf(w, "%s:\n", heading)
	feasible := a.GetFeasibleNodes().GetNames()
	others := len(feasible)
	here := "it could stay"
	if slices.Contains(feasible, p.Node()) {
		others--
	} else {
		here = "its present node would reject it: " + rejectionOf(p)
	}
	text := "it could move to " + words.Plural(others, "other node")
	if others == 0 {
		text = "it could not move: no other node is feasible"
	}
	WriteWrapped(w, "", text+"; "+here, s.Width)
	for _, of := range words.PodDevices(p.Words.Cluster, p.On.Object.Namespace, p.On.Object.Name) {
		WriteWrapped(w, "", "devices of "+of, s.Width)
	}
	fmt.Fprintln(w)
	rows := [][]string{{"NODES", "VERDICT", "PLUGIN", "WHICH"}}
	if len(feasible) > 0 {
		rows = append(rows, []string{fmt.Sprint(len(feasible)), "feasible", "", words.Names(marked(p, feasible))})
	}
	for _, r := range a.GetRejections() {
		all := rejection(r)
		all[0][3] = words.Names(marked(p, r.GetNodes().GetNames()))
		rows = append(rows, all...)
	}
	table(w, rows...)
	x := s.explanation(p.Words)
	x.WriteWhy(w, "", a.GetExplanation())
	if len(a.GetChanges()) > 0 {
		fmt.Fprintln(w)
		x.WriteChanges(w, "", 1, a.GetChanges(), nil)
	}
	s.checks(w, p)
}

// rejectionOf is why the present node of a pod is rejected.
func rejectionOf(p *explain.Pod) string {
	for _, r := range p.Response.GetRejections() {
		if !slices.Contains(r.GetNodes().GetNames(), p.Node()) {
			continue
		}
		var out []string
		for _, reason := range r.GetReasons() {
			out = append(out, reason.GetMessage())
		}
		return strings.Join(out, ", ")
	}
	return p.Response.GetMessage()
}

// marked returns names of nodes, the present one first and marked.
func marked(p *explain.Pod, names []string) []string {
	if !slices.Contains(names, p.Node()) {
		return names
	}
	out := []string{p.Node() + " (now)"}
	return append(out, slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == p.Node() })...)
}

// Fix writes commands that make the first change that would place each pod and that kubectl can make. Everything else is a comment of
// a shell.
func Fix(w io.Writer, a *explain.Answer, s Style) error {
	for i, p := range a.Pods {
		if i > 0 {
			fmt.Fprintln(w, "#")
		}
		if !a.Single {
			s.comment(w, p.Heading())
		}
		if err := s.fix(w, p); err != nil {
			return err
		}
	}
	return nil
}

func (s *Style) fix(w io.Writer, p *explain.Pod) error {
	entry := p.Pending[0]
	if entry.Message != "" {
		s.comment(w, entry.Message)
		return nil
	}
	changes := p.Response.GetChanges()
	if p.After.String() != "" {
		s.comment(w, p.After.String())
		changes = p.After.First.GetChanges()
	}
	owner := remedy.WorkloadOf(entry.Origin, entry.Object())
	switch inPlace := p.Words.InPlace(); {
	case p.After.Later() != "":
		s.comment(w, p.After.Later())
	case inPlace != "":
		s.comment(w, inPlace)
		return writeFix(w, remedy.InPlace(owner))
	case p.Feasible() && p.After.String() == "":
		s.comment(w, "A node is feasible now.")
	case len(changes)+len(p.Advice) == 0:
		s.explanation(p.Words).WriteChanges(w, "# ", 1, nil, nil)
	default:
		return s.firstFix(w, p, changes)
	}
	return nil
}

// firstFix writes how to make the first change that has a patch or commands, and why those before it have none.
func (s *Style) firstFix(w io.Writer, p *explain.Pod, changes []*stowagev1.Change) error {
	entry := p.Pending[0]
	owner := remedy.WorkloadOf(entry.Origin, entry.Object())
	for _, c := range changes {
		s.comment(w, p.Words.Change(c))
		fix, refused := remedy.Of(c, entry.Object(), owner, p.Words.Cluster.GetNodes())
		if refused == nil {
			s.comment(w, fix.Note)
			return writeFix(w, fix)
		}
		s.comment(w, "No patch: "+refused.Error()+".")
	}
	for i := range p.Advice {
		s.comment(w, p.Advice[i].Text)
		if p.Advice[i].Fix != nil {
			return writeFix(w, p.Advice[i].Fix)
		}
		s.comment(w, "No patch: "+p.Advice[i].Refused.Error()+".")
	}
	return nil
}

// comment writes a text as comments, nothing if it is empty.
func (s *Style) comment(w io.Writer, text string) {
	if text != "" {
		WriteWrapped(w, "# ", text, s.Width)
	}
}

// endOfPatch is no line of a patch: the lines of its values are indented.
const endOfPatch = "EOF"

// writeFix writes commands for a shell. The last one gets the patch, as text that the shell does not read.
func writeFix(w io.Writer, fix *remedy.Fix) error {
	patch := ""
	if fix.Patch != nil {
		patch = fmt.Sprintf(" <<'%s'\n%s%[1]s", endOfPatch, fix.Patch)
	}
	for i, command := range fix.Commands {
		if i == len(fix.Commands)-1 {
			command += patch
		}
		if _, err := fmt.Fprintln(w, command); err != nil {
			return err
		}
	}
	return nil
}
