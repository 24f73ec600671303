package cli

import (
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
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
	return c.ask(s, func(a *asked) error {
		if len(a.snapshot.NodeTemplates) == 0 {
			return errors.New("--template: there are no Nodes")
		}
		return nil
	}, func(a *asked) (proto.Message, error) {
		request := a.snapshot.ProvisionRequest()
		request.Context.Profile, request.TieBreakSeed, request.MaxNodes = a.scheduler.Profile, c.Seed, c.MaxNodes
		request.QueueMode, request.CountTemplateDomains = a.queueMode(c.Queue), c.CountTemplateDomains
		if c.MaxSteps > 0 {
			request.MaxSteps = &c.MaxSteps
		}
		response, err := a.Provision(s.ctx, request)
		if err != nil {
			return request, err
		}
		return request, c.print(s, a.snapshot, response, code)
	})
}

// print prints an answer.
func (c *provisionCommand) print(s *session, snapshot *kube.Snapshot, response *stowagev1.ProvisionResponse, code *answered) error {
	snapshot.Complete(response.Place)
	c.doubt(snapshot, "", response)
	*code = c.verdict(s, snapshot, response.Place.UnplacedCount == 0)
	if c.nothingAsked(s, snapshot) {
		*code = exitUnsure
	}
	of := result.AnswerOf{
		Kind: "ProvisionReport", Title: "Nodes to add", Good: response.Place.UnplacedCount == 0, Value: response, Cluster: snapshot.Cluster,
		Names: nodeNames(response.NodeNames), Pods: answer.NewPlacements(snapshot).Answer(response.Place), Added: response.NodeNames,
		Templates: snapshot.NodeTemplates,
		Effect:    func(e *answer.Effect) { e.Place(snapshot, response.Place.Placements, response.Place.Evictions) },
	}
	return c.printAnswer(s, of, func(w io.Writer, width int) {
		(&text.Provision{Snapshot: snapshot, TemplateDomains: c.CountTemplateDomains, Width: width}).Write(w, response)
	})
}

// provisionFlag returns the flag that sets a field of a request for nodes to add.
func provisionFlag(request proto.Message, path string) (string, bool) {
	flag, ok := map[string]string{"max_nodes": "--max-nodes", "max_steps": "--max-steps", "templates": "--template"}[path]
	_, provisions := request.(*stowagev1.ProvisionRequest)
	return flag, ok && provisions
}
