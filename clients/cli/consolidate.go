package cli

import (
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
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
	return c.ask(s, c.priced, func(a *asked) (proto.Message, error) {
		request, _, err := a.snapshot.ConsolidateRequest(c.Nodes)
		if err != nil {
			return nil, err
		}
		request.Context.Profile, request.TieBreak, request.TieBreakSeed = a.scheduler.Profile, c.tieBreak(), c.Seed
		request.MaxActions, request.MaxNodesPerAction, request.MaxSteps = c.MaxActions, c.MaxNodesPerAction, c.MaxSteps
		response, err := a.Consolidate(s.ctx, request)
		if err != nil {
			return request, err
		}
		return request, c.print(s, a.snapshot, response, code)
	})
}

// priced lists the nodes that have no price.
func (c *consolidateCommand) priced(a *asked) error {
	_, unpriced, err := a.snapshot.ConsolidateRequest(c.Nodes)
	if len(unpriced) > 0 {
		quote.Fprintf(a.stderr, "stowage: without a price, and therefore not removed: %s\n", words.Names(unpriced))
	}
	return err
}

// print prints an answer.
func (c *consolidateCommand) print(
	s *session, snapshot *kube.Snapshot, response *stowagev1.ConsolidateResponse, code *answered,
) error {
	var removed, added []string
	for _, a := range response.Actions {
		removed = append(removed, a.GetDrain().GetNodes().GetNames()...)
		if a.NewNodeIndex != nil {
			added = append(added, a.GetNewNodeName())
		}
	}
	c.notePending(s, snapshot, "actions")
	for _, a := range response.Actions {
		c.doubt(snapshot, "", a)
	}
	*code = c.verdict(s, snapshot, len(removed) > 0)
	of := result.AnswerOf{
		Kind: "ConsolidateReport", Title: "Which nodes can go", Good: len(removed) > 0, Value: response, Cluster: snapshot.Cluster,
		Names: nodeNames(removed), Added: added, Templates: snapshot.NodeTemplates, Effect: func(e *answer.Effect) {
			for _, a := range response.Actions {
				e.Moves(a.GetDrain())
			}
			e.Drained(true, removed...)
			for _, k := range response.Kept {
				e.Drained(false, k.GetDrain().GetNodes().GetNames()...)
				e.Reason(words.WhyKept(k), k.GetDrain().GetNodes().GetNames()...)
			}
		},
	}
	return c.printAnswer(s, of, func(w io.Writer, width int) {
		(&text.Consolidate{Cluster: snapshot.Cluster, Moves: c.Moves, Width: width}).Write(w, response)
	})
}

// consolidateFlag returns the flag that sets a field of a request to consolidate.
func consolidateFlag(request proto.Message, path string) (string, bool) {
	flag, ok := map[string]string{
		"max_actions": "--max-actions", "max_nodes_per_action": "--max-nodes-per-action", "max_steps": "--max-steps",
		"templates": "--template",
	}[path]
	_, consolidates := request.(*stowagev1.ConsolidateRequest)
	return flag, ok && consolidates
}
