package cli

import (
	"errors"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/filter"
	"github.com/stowage-scheduler/stowage/clients/answer/pod"
	"github.com/stowage-scheduler/stowage/clients/answer/preempt"
	"github.com/stowage-scheduler/stowage/clients/answer/score"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// onePod is a request about one pod.
type onePod struct {
	question
	Pod string `placeholder:"NAME" help:"The pending pod: NAME, NAMESPACE/NAME, KIND/NAME or NAMESPACE/KIND/NAME of the pod or its workload. Required if several pods are pending."`
}

type filterCommand struct{ onePod }

// Run is called by kong.
func (c *filterCommand) Run(s *session, code *answered) error {
	return aboutPod(&c.onePod, s, code, func(q *answer.Question) (*filter.Answer, error) {
		return filter.Ask(s.ctx, q, c.Pod)
	}, text.Filter)
}

type scoreCommand struct{ onePod }

// Run is called by kong.
func (c *scoreCommand) Run(s *session, code *answered) error {
	return aboutPod(&c.onePod, s, code, func(q *answer.Question) (*score.Answer, error) {
		return score.Ask(s.ctx, q, c.Pod)
	}, text.Score)
}

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
	var o preempt.Options
	if c.Safe {
		o.Safe = &stowagev1.SafePreemptionOptions{MaxCascades: c.MaxCascades}
	}
	if c.AcrossNodes {
		o.AcrossNodes = &stowagev1.AcrossNodesOptions{}
		if c.MaxSteps > 0 {
			o.AcrossNodes.MaxSteps = &c.MaxSteps
		}
	}
	return aboutPod(&c.onePod, s, code, func(q *answer.Question) (*preempt.Answer, error) {
		return preempt.Ask(s.ctx, q, c.Pod, o)
	}, text.Preempt)
}

// aboutPod asks about one pod and prints the answer.
func aboutPod[R pod.Response](
	c *onePod, s *session, code *answered, put func(*answer.Question) (*pod.Answer[R], error),
	write func(io.Writer, *pod.Answer[R], text.Style),
) error {
	return ask(s, &c.question, code, "", put, write, nil)
}
