package text

import (
	"fmt"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer/filter"
	"github.com/stowage-scheduler/stowage/clients/answer/pod"
	"github.com/stowage-scheduler/stowage/clients/answer/preempt"
	"github.com/stowage-scheduler/stowage/clients/answer/score"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/quote"
)

// Filter writes the feasible nodes of a pod, and why the others are not.
func Filter(w io.Writer, a *filter.Answer, s Style) {
	ofPod(w, a, s, func() {
		tableWithin(w, s.Width, verdicts(a.Response)...)
		if a.Response.GetMessage() != "" {
			fmt.Fprintln(w)
			WriteWrapped(w, "", a.Response.GetMessage(), s.Width)
		}
		s.explanation(&words.Explanation{Cluster: a.Cluster}).WriteOutcome(w, "", a.Response.GetPreemption())
	})
}

// Score writes the scores of the feasible nodes of a pod.
func Score(w io.Writer, a *score.Answer, s Style) {
	ofPod(w, a, s, func() { scores(w, a.Response, s.Width) })
}

// Preempt writes which pods an unschedulable pod preempts.
func Preempt(w io.Writer, a *preempt.Answer, s Style) {
	ofPod(w, a, s, func() {
		x := s.explanation(&words.Explanation{Cluster: a.Cluster, NoPreemption: a.NoPreemption})
		x.writePreempt(w, a.Entry.Pods.GetPod().GetNominatedNodeName(), a.Response)
	})
}

// ofPod writes an answer about a pod, or why kube-scheduler does not queue the pod.
func ofPod[R pod.Response](w io.Writer, a *pod.Answer[R], s Style, write func()) {
	if a.Untried {
		fmt.Fprintln(w, s.Ink.Verdict(false, quote.Line(a.Response.GetMessage())))
	} else {
		write()
	}
	Doubts(w, &a.Doubts, s.Width)
}
