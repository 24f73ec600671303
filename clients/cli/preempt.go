package cli

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/render/text"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type preemptCommand struct {
	onePod
	Safe        bool   `help:"Also look for victims whose replacements would all be placed."`
	MaxCascades uint32 `placeholder:"NUMBER" help:"With --safe: how many times in a row a replacement may preempt other pods."`
	AcrossNodes bool   `help:"Also look for the fewest victims on any nodes."`
	MaxSteps    uint32 `placeholder:"NUMBER" help:"With --across-nodes: search budget, in steps."`
}

// Run is called by kong.
func (c *preemptCommand) Run(s *session, code *answered) error {
	switch {
	case c.MaxCascades > 0 && !c.Safe:
		return errors.New("--max-cascades goes with --safe")
	case c.MaxSteps > 0 && !c.AcrossNodes:
		return errors.New("--max-steps goes with --across-nodes")
	}
	return c.ask(s, code, func(message string, doubts []*stowagev1.Doubt) proto.Message {
		return &stowagev1.PreemptResponse{Message: message, Doubts: doubts}
	}, func(a *asked, about *stowagev1.DecisionContext, pod *stowagev1.Pod) (proto.Message, error) {
		request := &stowagev1.PreemptRequest{Context: about, Pod: pod}
		if c.Safe {
			request.Safe = &stowagev1.SafePreemptionOptions{MaxCascades: c.MaxCascades}
		}
		if c.AcrossNodes {
			request.AcrossNodes = &stowagev1.AcrossNodesOptions{}
			if c.MaxSteps > 0 {
				request.AcrossNodes.MaxSteps = &c.MaxSteps
			}
		}
		answer, err := a.Preempt(s.ctx, request)
		if err != nil {
			return request, err
		}
		c.doubt(a.snapshot, podOf(a.snapshot, pod), answer)
		*code = c.verdict(s, a.snapshot, len(answer.GetFeasibleNodes().GetIndexes()) > 0 && answer.Message == "")
		if c.Output != table {
			return request, c.printMessage(s.stdout, answer)
		}
		x := text.Explanation{Explanation: &words.Explanation{Cluster: a.snapshot.Cluster, NoPreemption: a.scheduler.NoPreemption()}, Width: s.width}
		x.WritePreempt(s.stdout, pod.GetNominatedNodeName(), answer)
		c.writeDoubts(s)
		return request, nil
	})
}
