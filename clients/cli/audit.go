package cli

import (
	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/audit"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
)

type auditCommand struct {
	question
	FailOn string `enum:"broken,warning" default:"broken" help:"Exit with 1 on these findings and worse ones: ${enum}."`
}

// Run is called by kong.
func (c *auditCommand) Run(s *session, code *answered) error {
	return ask(s, &c.question, code, "", func(q *answer.Question) (*audit.Answer, error) {
		return audit.Ask(s.ctx, q, audit.Options{SchedulerName: c.SchedulerName, FailOnWarnings: c.FailOn == "warning"})
	}, text.Audit, html.Audit)
}
