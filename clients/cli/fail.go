package cli

import (
	"errors"
	"io"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/fail"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
)

type failCommand struct {
	question
	ties
	queueFlag
	Zone         []string `sep:"," placeholder:"NAME" values:"zone" help:"Zone that fails: nodes with this topology.kubernetes.io/zone. Repeatable."`
	TopologyKey  []string `sep:"none" placeholder:"LABEL=VALUE" help:"Topology domain that fails, such as topology.kubernetes.io/region=eu. Repeatable."`
	Node         []string `sep:"," placeholder:"NAME" values:"node" help:"Node that fails. Repeatable."`
	NodeSelector string   `placeholder:"LABELS" help:"Nodes with these labels fail, such as pool=spot,arch!=arm64."`
	Each         string   `placeholder:"LABEL" values:"topology-key" help:"Let each domain of this topology key fail on its own."`
	Moves        bool     `help:"List every replacement pod, with its new node."`
}

// Validate is called by kong.
func (c *failCommand) Validate() error {
	named := len(c.Zone)+len(c.TopologyKey)+len(c.Node) > 0 || c.NodeSelector != ""
	if named == (c.Each != "") {
		return errors.New("say what fails with --zone, --topology-key, --node or --node-selector, " +
			"or let each domain fail alone with --each")
	}
	return nil
}

// Run is called by kong.
func (c *failCommand) Run(s *session, code *answered) error {
	return ask(s, &c.question, code, c.mode(), func(q *answer.Question) (*fail.Answer, error) {
		q.TieBreak, q.Seed = c.tieBreak(), c.Seed
		return fail.Ask(s.ctx, q, fail.Options{
			Zones: c.Zone, Domains: c.TopologyKey, Nodes: c.Node, NodeSelector: c.NodeSelector, Each: c.Each,
		})
	}, func(w io.Writer, a *fail.Answer, style text.Style) {
		style.Moves = c.Moves
		text.Fail(w, a, style)
	}, html.Fail)
}
