package cli

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/render/html"
	"github.com/stowage-scheduler/stowage/clients/render/text"
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
	Watch       bool          `local:"" short:"w" help:"Print placements as they are decided."`
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
	c.rollouts = !c.Joint && !c.Watch && !c.Partial
	q, stop, err := c.open(s, c.mode())
	if err != nil {
		return err
	}
	defer stop()
	q.TieBreak, q.Seed = c.tieBreak(), c.Seed
	ctx := s.ctx
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	o := place.Options{
		TopologyKey: c.TopologyKey, Joint: c.Joint, AtLeast: c.AtLeast, MaxSteps: c.MaxSteps, Changes: c.Changes, Partial: c.Partial,
		Explain: c.Output == table || c.Output == asHTML, Rollouts: c.rollouts,
		Retries: !c.Watch && !c.Partial && c.Timeout == 0 && c.Queue == "auto" && !c.Joint,
	}
	a, err := decided(s, &c.question, q, func() (*place.Answer, error) {
		if !c.Watch {
			return place.Ask(ctx, q, o)
		}
		return watch(ctx, s, c.Output, q, o)
	})
	if a != nil && (c.Watch || c.Output == table || c.drawn()) {
		c.writeFindings(s, a.Findings)
	}
	if s.ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if a == nil || a.Response == nil {
		return err
	}
	*code = c.exit(s, &a.Judgement)
	if a.Status == answer.Unsure {
		nothingToPlace(s, q)
	}
	switch {
	case c.Watch && c.Output != table:
		for _, e := range a.Snapshot.Waiting { // the parts have the others
			quote.Fprintf(s.stderr, "stowage: %s: pods without a node: %d: %s\n", e.Origin, e.Pods.PodCount(), e.Message)
		}
	case c.Output == table:
		text.Place(s.stdout, a, c.style(s))
	default:
		err = errors.Join(err, c.document(s.stdout, a, func() *html.Page { return html.Place(a) }))
	}
	return err
}
