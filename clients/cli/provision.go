package cli

import (
	"errors"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/provision"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
)

type provisionCommand struct {
	question
	queueFlag
	Template             []string `required:"" sep:"none" placeholder:"PATH" help:"Manifests of Nodes that may be added, as they are when ready. Annotations: stowage.scheduling/price, and optionally stowage.scheduling/max-count. Repeatable."`
	CountTemplateDomains bool     `help:"Spread over the topology domains of all templates, also of templates without a new node. kube-scheduler counts only domains that have nodes."`
	MaxNodes             *uint32  `placeholder:"NUMBER" help:"Maximum number of new nodes."`
	MaxSteps             uint32   `placeholder:"NUMBER" help:"Search budget, in steps."`
	Seed                 uint64   `placeholder:"NUMBER" help:"Break ties between the best nodes by this seed; 0 takes the first."`
}

// Run is called by kong.
func (c *provisionCommand) Run(s *session, code *answered) error {
	c.templates = c.Template
	return ask(s, &c.question, code, c.mode(), func(q *answer.Question) (*provision.Answer, error) {
		if len(q.Snapshot.NodeTemplates) == 0 {
			return nil, errors.New("--template: there are no Nodes")
		}
		q.Seed = c.Seed
		o := provision.Options{CountTemplateDomains: c.CountTemplateDomains, MaxNodes: c.MaxNodes}
		if c.MaxSteps > 0 {
			o.MaxSteps = &c.MaxSteps
		}
		a, err := provision.Ask(s.ctx, q, o)
		if err == nil && a.Status == answer.Unsure {
			nothingToPlace(s, q)
		}
		return a, err
	}, text.Provision, html.Provision)
}
