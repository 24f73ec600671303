package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	questions "github.com/stowage-scheduler/stowage/clients/answer"

	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"
	"github.com/stowage-scheduler/stowage/clients/whatif"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

type placeCommand struct {
	question
	ties
	queueFlag
	TopologyKey string        `placeholder:"LABEL" values:"topology-key" help:"Node label by which the picture groups nodes. Default: the zone, or the topology key of the pods' groups or rules."`
	Joint       bool          `help:"Place all pods without a pod group together, so that every rule holds at the end: all of them or none."`
	AtLeast     uint32        `placeholder:"NUMBER" help:"With --joint: minimum number of pods to place."`
	MaxSteps    uint32        `placeholder:"NUMBER" help:"With --joint: search budget, in steps."`
	Changes     bool          `help:"List the changes that would place each unschedulable pod. Slow for many different pods."`
	Watch       bool          `short:"w" help:"Print placements as they are decided."`
	Timeout     time.Duration `placeholder:"DURATION" help:"Maximum time to wait for the answer, such as 10s."`
	Partial     bool          `help:"With --timeout: place as many pods as time allows."`
}

// Validate is called by kong.
func (c *placeCommand) Validate() error {
	switch {
	case c.Partial && c.Timeout == 0:
		return errors.New("--partial needs --timeout")
	case c.Timeout < 0:
		return errors.New("--timeout is negative")
	case (c.AtLeast > 0 || c.MaxSteps > 0) && !c.Joint:
		return errors.New("--at-least and --max-steps need --joint")
	case c.Watch && !slices.Contains([]string{table, wide, asJSON, asYAML}, c.Output):
		return errors.New("--watch shows tables, JSON or YAML")
	case c.Joint && c.Queue == "kube-scheduler":
		return errors.New("--joint places pods as a whole, which --queue=kube-scheduler does not")
	}
	return nil
}

// Run is called by kong.
func (c *placeCommand) Run(s *session, code *answered) error {
	ctx := s.ctx
	c.rollouts = !c.Joint && !c.Watch && !c.Partial
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	var mode stowagev1.QueueMode
	return c.ask(s, func(a *asked) error {
		if c.Joint {
			a.snapshot.PlaceRestJointly(c.AtLeast, c.MaxSteps)
		}
		mode = stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
		if !c.Joint {
			mode = a.queueMode(c.Queue)
		}
		return c.review(a, a.snapshot.StatedPending(), c.Watch || c.tellsFindings())
	}, func(a *asked) (proto.Message, error) {
		request := a.snapshot.PlaceRequest()
		request.QueueMode, request.Context.Profile = mode, a.scheduler.Profile
		request.IncludePreemption = true
		request.TieBreak, request.TieBreakSeed = c.tieBreak(), c.Seed
		request.Explain, request.AllowPartial = c.Output == table || c.Output == asHTML, c.Partial
		request.IncludeChanges = c.Changes
		return request, c.place(ctx, a, request, code)
	})
}

// place puts the question and prints the answer.
func (c *placeCommand) place(ctx context.Context, a *asked, request *stowagev1.PlaceRequest, code *answered) (err error) {
	s, snapshot := a.session, a.snapshot
	key := c.TopologyKey
	if key == "" {
		key = words.TopologyKey(snapshot.Cluster, snapshot.QueueGroups())
	}
	p := &text.Place{Snapshot: snapshot, TopologyKey: key, Width: s.width, Changes: c.Changes, Verbose: c.Verbose, Ink: s.ink}
	var answer *stowagev1.PlaceResponse
	if c.Watch || c.Partial {
		answer, err = c.inParts(ctx, s, a, request, p)
	} else {
		answer, err = a.Place(ctx, request)
	}
	if err == nil {
		if p.Rollouts, err = c.decideRollouts(ctx, a, answer); err != nil {
			return err
		}
	}
	if inTime := !c.Watch && !c.Partial && c.Timeout == 0; err == nil && inTime && c.Queue == "auto" && !c.Joint && request.QueueMode == stowagev1.QueueMode_QUEUE_MODE_IN_ORDER {
		if err := c.tellRetries(ctx, a, request, answer); err != nil {
			return err
		}
	}
	if answer != nil {
		snapshot.Complete(answer)
		c.doubt(snapshot, "", answer)
		c.doubtRollouts(snapshot, p.Rollouts)
		*code = c.verdict(s, snapshot, whatif.AllPlaced(snapshot, answer, p.Rollouts) && whatif.Fine(p.Rollouts))
		p.Caveat = c.caveat
		if len(p.Rollouts) == 0 && c.nothingAsked(s, snapshot) {
			*code = exitUnsure
		}
	}
	switch {
	case answer == nil:
	case c.Watch && c.Output != table:
		for _, e := range snapshot.Waiting { // the parts have the others
			quote.Fprintf(s.stderr, "stowage: %s: pods without a node: %d: %s\n", e.Origin, e.Pods.PodCount(), e.Message)
		}
	case c.Output == table:
		p.Write(s.stdout, answer)
		text.Rollouts(s.stdout, p.Rollouts, s.width)
		c.writeDoubts(s)
	default:
		d, err := result.NewPlace(p, answer)
		if err == nil {
			d.Findings = c.findings
			err = c.printDocument(s.stdout, d)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// tellRetries says if kube-scheduler's queue, which tries pods again once others are placed, places more than one try each.
func (c *placeCommand) tellRetries(ctx context.Context, a *asked, request *stowagev1.PlaceRequest, answer *stowagev1.PlaceResponse) error {
	if answer.GetUnplacedCount() == 0 || len(request.Queue) < 2 || questions.InOrderOnly(a.snapshot) != "" {
		return nil
	}
	again := &stowagev1.PlaceRequest{
		Context: request.Context, Queue: request.Queue, PodGroups: request.PodGroups, TieBreak: request.TieBreak,
		TieBreakSeed: request.TieBreakSeed, QueueMode: stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER,
	}
	retried, err := a.Place(ctx, again)
	if err != nil {
		return err
	}
	if retried.GetPlacedCount() > answer.GetPlacedCount() && len(retried.GetEvictions()) == 0 {
		c.note(a.session, "with --queue kube-scheduler, which tries pods again, %d of %s are placed", retried.GetPlacedCount(),
			counted(int(retried.GetPlacedCount()+retried.GetUnplacedCount()), "pod", "pods"))
	}
	return nil
}

// jointFlag returns the flag that sets a field of the group that --joint makes.
func jointFlag(request proto.Message, path string) (string, bool) {
	r, ok := request.(*stowagev1.PlaceRequest)
	i := slices.IndexFunc(r.GetPodGroups(), func(g *stowagev1.PodGroup) bool { return g.Name == kube.RestGroup })
	field, found := strings.CutPrefix(path, fmt.Sprintf("pod_groups[%d]", i))
	if !ok || !found {
		return "", false
	}
	switch field {
	case ".min_count":
		return "--at-least", true
	case ".max_steps":
		return "--max-steps", true
	}
	return "--joint", true
}
