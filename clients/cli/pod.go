package cli

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type filterCommand struct{ onePod }

// Run is called by kong.
func (c *filterCommand) Run(s *session, code *answered) error {
	return c.filter(s, code, false)
}

func (q *onePod) filter(s *session, code *answered, explain bool) error {
	return q.ask(s, code, func(message string, doubts []*stowagev1.Doubt) proto.Message {
		return &stowagev1.FilterResponse{Message: message, Doubts: doubts}
	}, func(a *asked, about *stowagev1.DecisionContext, pod *stowagev1.Pod) (proto.Message, error) {
		request := &stowagev1.FilterRequest{
			Context: about, Pod: pod, Explain: explain, IncludeChanges: explain, IncludePreemption: true,
		}
		answer, err := a.Filter(s.ctx, request)
		if err != nil {
			return request, err
		}
		q.doubt(a.snapshot, podOf(a.snapshot, pod), answer)
		feasible := len(answer.GetFeasibleNodes().GetIndexes()) > 0 && answer.Message == ""
		if explain {
			return q.explained(s, code, a, feasible, answer)
		}
		*code = q.verdict(s, a.snapshot, feasible)
		switch q.Output {
		case asName:
			return request, printNames(s.stdout, result.Feasible(answer.GetFeasibleNodes()))
		case table:
		default:
			return request, q.printMessage(s.stdout, answer)
		}
		text.Filter(s.stdout, answer, s.width)
		x := text.Explanation{Explanation: &words.Explanation{Cluster: a.snapshot.Cluster}, Width: s.width}
		x.WriteOutcome(s.stdout, "", answer.GetPreemption())
		q.writeDoubts(s)
		return request, nil
	})
}

// explained prints the answer about a pod of the queue, and what the other pending pods make of it. request is that of an error.
func (q *onePod) explained(s *session, code *answered, a *asked, feasible bool, answer *stowagev1.FilterResponse) (request proto.Message, err error) {
	entries, err := q.entries(a.snapshot)
	if err != nil {
		return nil, err
	}
	after, request, err := q.after(a, entries, feasible)
	if err != nil {
		return request, err
	}
	*code = q.verdict(s, a.snapshot, (feasible || after.Later() != "") && after.String() == "")
	x := q.explanation(a, a.snapshot.Cluster, entries[0].Pods.Pod.GetNominatedNodeName())
	x.After, x.Caveat = after, q.caveat
	if _, request, err = q.beyond(a, entries, answer, x); err != nil {
		return request, err
	}
	if q.Output == table {
		x.Write(s.stdout, answer)
		q.writeDoubts(s)
		return nil, nil
	}
	return nil, q.printExplained(a, x, entries[0].Origin, answer)
}

// explanation renders the answer about a pod in a cluster.
func (q *question) explanation(a *asked, cluster *stowagev1.Cluster, nominated string) *text.Explain {
	return &text.Explain{
		Explanation: text.Explanation{
			Explanation: &words.Explanation{Cluster: cluster, NoPreemption: a.scheduler.NoPreemption()}, Width: a.width, Ink: a.ink,
		},
		Verbose: q.Verbose, Nominated: nominated,
	}
}

// printExplained prints the answer about a pod in another format than a table.
func (q *question) printExplained(a *asked, x *text.Explain, pod kube.Origin, answer *stowagev1.FilterResponse) error {
	d, err := result.NewExplain(x, pod, words.TopologyKey(x.Cluster, nil), answer)
	if err != nil {
		return err
	}
	d.Findings = q.findings
	return q.printDocument(a.stdout, d)
}

type scoreCommand struct{ onePod }

// Run is called by kong.
func (c *scoreCommand) Run(s *session, code *answered) error {
	return c.ask(s, code, func(message string, doubts []*stowagev1.Doubt) proto.Message {
		return &stowagev1.ScoreResponse{Message: message, Doubts: doubts}
	}, func(a *asked, about *stowagev1.DecisionContext, pod *stowagev1.Pod) (proto.Message, error) {
		request := &stowagev1.ScoreRequest{Context: about, Pod: pod, IncludePluginScores: true}
		answer, err := a.Score(s.ctx, request)
		if err != nil {
			return request, err
		}
		c.doubt(a.snapshot, podOf(a.snapshot, pod), answer)
		*code = c.verdict(s, a.snapshot, len(answer.GetNodes().GetIndexes()) > 0 && answer.Message == "")
		switch c.Output {
		case asName:
			return request, printNames(s.stdout, result.Feasible(answer.GetNodes()))
		case table:
		default:
			return request, c.printMessage(s.stdout, answer)
		}
		text.Score(s.stdout, answer, s.width)
		c.writeDoubts(s)
		return request, nil
	})
}

// notTried prints the answer for a pod that kube-scheduler does not queue.
func (q *onePod) notTried(s *session, a *asked, entry kube.Entry, answer proto.Message) error {
	filtered, ok := answer.(*stowagev1.FilterResponse)
	switch {
	case q.Output == asName: // no node can take it
		return nil
	case q.Output != table && ok && s.command == "explain":
		x := q.explanation(a, a.snapshot.Cluster, entry.Pods.Pod.GetNominatedNodeName())
		return q.printExplained(a, x, entry.Origin, filtered)
	case q.Output != table:
		return q.printMessage(s.stdout, answer)
	}
	fmt.Fprintln(s.stdout, s.ink.Verdict(false, quote.Line(entry.Message)))
	q.writeDoubts(s)
	return nil
}
