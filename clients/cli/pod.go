package cli

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/report"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type filterCommand struct{ onePod }

// Run is called by kong.
func (c *filterCommand) Run(s *session, code *answered) error {
	return c.filter(s, code, false)
}

type explainCommand struct {
	onePod
	Fix bool `help:"Print how to make the first change that would place the pod: kubectl's commands, and the patch that the last one reads."`
}

// Run is called by kong.
func (c *explainCommand) Run(s *session, code *answered) error {
	if c.Fix {
		return c.fix(s, code)
	}
	return c.filter(s, code, true)
}

func (q *onePod) filter(s *session, code *answered, explain bool) error {
	return q.ask(s, code, func(message string, unread []*stowagev1.UnreadField) proto.Message {
		return &stowagev1.FilterResponse{Message: message, Unread: unread}
	}, func(a *asked, about *stowagev1.DecisionContext, pod *stowagev1.Pod) (proto.Message, error) {
		request := &stowagev1.FilterRequest{
			Context: about, Pod: pod, Explain: explain, IncludeChanges: explain, IncludePreemption: !a.scheduler.NoPreemption,
		}
		answer, err := a.Filter(s.ctx, request)
		if err != nil {
			return request, err
		}
		*code = q.verdict(s, a.snapshot, len(answer.GetFeasibleNodes().GetIndexes()) > 0 && answer.Message == "", answer.Unread)
		if q.Output != "table" {
			return request, q.printMessage(s.stdout, answer)
		}
		report.Filter(s.stdout, answer, width)
		x := report.Explanation{Cluster: a.snapshot.Cluster, Width: width}
		if !explain {
			x.WriteOutcome(s.stdout, "", answer.GetPreemption())
		} else {
			x.Write(s.stdout, answer.GetExplanation())
			x.WritePreemption(s.stdout, pod.GetNominatedNodeName(), answer.GetPreemption())
			rejected := len(a.snapshot.Cluster.Nodes) > 0 && !answer.GetInternalError() // a reason for kube-scheduler to run preemption
			if a.scheduler.NoPreemption && rejected && len(answer.GetFeasibleNodes().GetIndexes()) == 0 {
				x.WriteNoPreemption(s.stdout, "the profile has no preemption")
			}
			if len(answer.GetFeasibleNodes().GetIndexes()) == 0 {
				fmt.Fprintln(s.stdout)
				x.WriteChanges(s.stdout, "", answer.GetChanges(), answer.GetPreemption())
			}
		}
		report.Unread(s.stdout, answer.Unread, width)
		return request, nil
	})
}

type scoreCommand struct{ onePod }

// Run is called by kong.
func (c *scoreCommand) Run(s *session, code *answered) error {
	return c.ask(s, code, func(message string, unread []*stowagev1.UnreadField) proto.Message {
		return &stowagev1.ScoreResponse{Message: message, Unread: unread}
	}, func(a *asked, about *stowagev1.DecisionContext, pod *stowagev1.Pod) (proto.Message, error) {
		request := &stowagev1.ScoreRequest{Context: about, Pod: pod, IncludePluginScores: true}
		answer, err := a.Score(s.ctx, request)
		if err != nil {
			return request, err
		}
		*code = c.verdict(s, a.snapshot, len(answer.GetNodes().GetIndexes()) > 0 && answer.Message == "", answer.Unread)
		if c.Output != "table" {
			return request, c.printMessage(s.stdout, answer)
		}
		report.Score(s.stdout, answer, width)
		report.Unread(s.stdout, answer.Unread, width)
		return request, nil
	})
}

// notTried prints the answer for a pod that kube-scheduler does not queue.
func (q *onePod) notTried(s *session, entry kube.Entry, answer proto.Message) error {
	if q.Output != "table" {
		return q.printMessage(s.stdout, answer)
	}
	fmt.Fprintln(s.stdout, entry.Message)
	report.Unread(s.stdout, entry.Pods.Pod.Unread, width)
	return nil
}
