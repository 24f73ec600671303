package cli

import (
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/consolidate"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
)

type consolidateCommand struct {
	question
	ties
	Nodes             []string `arg:"" optional:"" name:"node" values:"node" help:"Nodes that may be removed. Default: all nodes with a price, from the annotation stowage.scheduling/price or from a template of the same node.kubernetes.io/instance-type."`
	Template          []string `sep:"none" placeholder:"PATH" help:"Manifests of Nodes that may replace others, as for provision. Repeatable."`
	MaxActions        *uint32  `placeholder:"NUMBER" help:"Maximum number of actions."`
	MaxNodesPerAction *uint32  `placeholder:"NUMBER" help:"Maximum number of nodes that are drained together. Default: 1."`
	MaxSteps          *uint32  `placeholder:"NUMBER" help:"Search budget, in steps."`
	Moves             bool     `help:"List every pod that moves, with its new node."`
}

// Run is called by kong.
func (c *consolidateCommand) Run(s *session, code *answered) error {
	c.templates = c.Template
	return ask(s, &c.question, code, "", func(q *answer.Question) (*consolidate.Answer, error) {
		q.TieBreak, q.Seed = c.tieBreak(), c.Seed
		return consolidate.Ask(s.ctx, q, consolidate.Options{
			Nodes: c.Nodes, MaxActions: c.MaxActions, MaxNodesPerAction: c.MaxNodesPerAction, MaxSteps: c.MaxSteps,
		})
	}, func(w io.Writer, a *consolidate.Answer, style text.Style) {
		style.Moves = c.Moves
		text.Consolidate(w, a, style)
	}, html.Consolidate)
}
