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

type explainCommand struct{ onePod }

// Run is called by kong.
func (c *explainCommand) Run(s *session, code *answered) error {
	return c.filter(s, code, true)
}

func (q *onePod) filter(s *session, code *answered, explain bool) error {
	snapshot, scheduler, err := q.read(s)
	if err != nil {
		return err
	}
	client, stop, err := q.connect(s.ctx)
	if err != nil {
		return err
	}
	defer stop()
	return q.ask(s, snapshot, func() (proto.Message, error) {
		entry, _, err := q.entry(snapshot)
		if err != nil {
			return nil, err
		}
		pod := entry.Pods.Pod
		if entry.Message != "" {
			*code = exitNo
			return nil, q.notTried(s, entry, &stowagev1.FilterResponse{Message: entry.Message, Unread: pod.Unread})
		}
		request := &stowagev1.FilterRequest{
			Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Cluster{Cluster: snapshot.Cluster}, Profile: scheduler.Profile, IncludeNodeNames: true,
			}, Pod: pod, Explain: explain,
			IncludeChanges: explain, IncludePreemption: !scheduler.NoPreemption,
		}
		answer, err := client.Filter(s.ctx, request)
		if err != nil {
			return request, err
		}
		*code = q.verdict(s, snapshot, len(answer.GetFeasibleNodes().GetIndexes()) > 0 && answer.Message == "", answer.Unread)
		if q.Output != "table" {
			return request, q.printMessage(s.stdout, answer)
		}
		report.Filter(s.stdout, answer, width)
		x := report.Explanation{Cluster: snapshot.Cluster, Width: width}
		if !explain {
			x.WriteOutcome(s.stdout, "", answer.GetPreemption())
		} else {
			x.Write(s.stdout, answer.GetExplanation())
			x.WritePreemption(s.stdout, pod.GetNominatedNodeName(), answer.GetPreemption())
			rejected := len(snapshot.Cluster.Nodes) > 0 && !answer.GetInternalError() // a reason for kube-scheduler to run preemption
			if scheduler.NoPreemption && rejected && len(answer.GetFeasibleNodes().GetIndexes()) == 0 {
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
	snapshot, scheduler, err := c.read(s)
	if err != nil {
		return err
	}
	client, stop, err := c.connect(s.ctx)
	if err != nil {
		return err
	}
	defer stop()
	return c.ask(s, snapshot, func() (proto.Message, error) {
		entry, _, err := c.entry(snapshot)
		if err != nil {
			return nil, err
		}
		pod := entry.Pods.Pod
		if entry.Message != "" {
			*code = exitNo
			return nil, c.notTried(s, entry, &stowagev1.ScoreResponse{Message: entry.Message, Unread: pod.Unread})
		}
		request := &stowagev1.ScoreRequest{
			Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Cluster{Cluster: snapshot.Cluster}, Profile: scheduler.Profile, IncludeNodeNames: true,
			}, Pod: pod, IncludePluginScores: true,
		}
		answer, err := client.Score(s.ctx, request)
		if err != nil {
			return request, err
		}
		*code = c.verdict(s, snapshot, len(answer.GetNodes().GetIndexes()) > 0 && answer.Message == "", answer.Unread)
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
