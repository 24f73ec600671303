package cli

import (
	"fmt"

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
	snapshot, pod, profile, err := q.read(s)
	if err != nil {
		return err
	}
	client, stop, err := q.connect(s.ctx)
	if err != nil {
		return err
	}
	defer stop()
	request := &stowagev1.FilterRequest{
		Cluster: snapshot.Cluster, Pod: pod, Profile: profile, Explain: explain, IncludeNodeNames: true,
		IncludeChanges: explain,
	}
	answer, err := client.Filter(s.ctx, request)
	if err != nil {
		return q.located(err, snapshot, request)
	}
	*code = yes(len(answer.GetFeasibleNodes().GetIndexes()) > 0)
	if q.Output != "table" {
		return q.printMessage(s.stdout, answer)
	}
	report.Filter(s.stdout, answer)
	if explain {
		x := report.Explanation{Cluster: snapshot.Cluster, Width: width}
		x.Write(s.stdout, answer.GetExplanation())
		if len(answer.GetFeasibleNodes().GetIndexes()) == 0 {
			fmt.Fprintln(s.stdout)
			x.WriteChanges(s.stdout, "", answer.GetChanges())
		}
	}
	return nil
}

type scoreCommand struct{ onePod }

// Run is called by kong.
func (c *scoreCommand) Run(s *session, code *answered) error {
	snapshot, pod, profile, err := c.read(s)
	if err != nil {
		return err
	}
	client, stop, err := c.connect(s.ctx)
	if err != nil {
		return err
	}
	defer stop()
	request := &stowagev1.ScoreRequest{
		Cluster: snapshot.Cluster, Pod: pod, Profile: profile, IncludeNodeNames: true, IncludePluginScores: true,
	}
	answer, err := client.Score(s.ctx, request)
	if err != nil {
		return c.located(err, snapshot, request)
	}
	*code = yes(len(answer.GetNodes().GetIndexes()) > 0)
	if c.Output != "table" {
		return c.printMessage(s.stdout, answer)
	}
	report.Score(s.stdout, answer)
	return nil
}
