package cli

import (
	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/scaledown"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
)

type scaleDownCommand struct {
	question
	Replicas uint32 `required:"" placeholder:"NUMBER" help:"Number of replicas to keep."`
	Workload string `placeholder:"[NAMESPACE/][KIND/]NAME" help:"The Deployment, ReplicaSet, ReplicationController or StatefulSet. Required if there are several."`
}

// Run is called by kong.
func (c *scaleDownCommand) Run(s *session, code *answered) error {
	return ask(s, &c.question, code, "", func(q *answer.Question) (*scaledown.Answer, error) {
		a, err := scaledown.Ask(s.ctx, q, scaledown.Options{Workload: c.Workload, Replicas: c.Replicas})
		if err == nil && c.Output != table && a.Uncontrollable != "" { // the table has it
			quote.Fprintf(s.stderr, "stowage: %s\n", a.Uncontrollable)
		}
		return a, err
	}, text.ScaleDown, html.ScaleDown)
}
