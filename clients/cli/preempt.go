package cli

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/report"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type preemptCommand struct {
	onePod
	Safe        bool   `help:"Also look for victims whose controllers' replacements all have a node."`
	MaxCascades uint32 `placeholder:"NUMBER" help:"With --safe: how often in a row a replacement may preempt other pods."`
	AcrossNodes bool   `help:"Also look for the fewest victims on any nodes."`
	MaxSteps    uint32 `placeholder:"NUMBER" help:"With --across-nodes: the budget of the search, in steps."`
}

// Run is called by kong.
func (c *preemptCommand) Run(s *session, code *answered) error {
	switch {
	case c.MaxCascades > 0 && !c.Safe:
		return errors.New("--max-cascades goes with --safe")
	case c.MaxSteps > 0 && !c.AcrossNodes:
		return errors.New("--max-steps goes with --across-nodes")
	}
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
			return nil, c.notTried(s, entry, &stowagev1.PreemptResponse{Message: entry.Message, Unread: pod.Unread})
		}
		request := &stowagev1.PreemptRequest{
			Context: &stowagev1.DecisionContext{
				Base: &stowagev1.DecisionContext_Cluster{Cluster: snapshot.Cluster}, Profile: scheduler.Profile, IncludeNodeNames: true,
			}, Pod: pod,
		}
		if c.Safe {
			request.Safe = &stowagev1.SafePreemptionOptions{MaxCascades: c.MaxCascades}
		}
		if c.AcrossNodes {
			request.AcrossNodes = &stowagev1.AcrossNodesOptions{}
			if c.MaxSteps > 0 {
				request.AcrossNodes.MaxSteps = &c.MaxSteps
			}
		}
		answer, err := client.Preempt(s.ctx, request)
		if err != nil {
			return request, err
		}
		*code = c.verdict(s, snapshot, len(answer.GetFeasibleNodes().GetIndexes()) > 0 && answer.Message == "", answer.Unread)
		if c.Output != "table" {
			return request, c.printMessage(s.stdout, answer)
		}
		x := report.Explanation{Cluster: snapshot.Cluster, Width: width}
		x.WritePreempt(s.stdout, pod.GetNominatedNodeName(), answer)
		report.Unread(s.stdout, answer.Unread, width)
		return request, nil
	})
}
