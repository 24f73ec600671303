package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	"github.com/stowage-scheduler/stowage/clients/result"
	"github.com/stowage-scheduler/stowage/clients/stowage"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// inParts calls PlaceStream and, with --watch, shows each part: on a terminal as a changing picture, elsewhere in lines, or
// in JSON or YAML. If the stream ends early, it returns the pods placed so far, nil if nothing arrived. With --partial, a
// deadline is then no error: large responses take long to arrive.
func (c *placeCommand) inParts(ctx context.Context, s *session, client stowagev1.PlacementServiceClient, request *stowagev1.PlaceRequest,
	p *text.Place,
) (*stowagev1.PlaceResponse, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.PlaceStream(ctx, &stowagev1.PlaceStreamRequest{Place: request})
	if err != nil {
		return nil, err
	}
	type received struct {
		part *stowagev1.PlaceStreamResponse
		err  error
	}
	next := make(chan received)
	go func() {
		defer close(next)
		for {
			part, err := stream.Recv()
			select {
			case next <- received{part, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	parts := stowage.NewParts(request)
	v := c.view(s, p, parts)
	defer v.close()
	tick := time.NewTicker(v.interval())
	defer tick.Stop()
	begun := false
	for {
		select {
		case <-tick.C:
			v.tick()
			tick.Reset(v.interval())
		case r, ok := <-next:
			switch {
			case !ok:
				r.err = ctx.Err()
			case r.err == nil:
				begun = true
				if r.err = parts.Add(r.part); r.err == nil {
					r.err = v.part(r.part)
				}
			case errors.Is(r.err, io.EOF):
				return parts.Answer(), nil
			}
			if r.err == nil {
				continue
			}
			interrupted := s.ctx.Err() != nil
			if interrupted {
				r.err = errors.New("interrupted")
			} else if ctx.Err() != nil && status.Code(r.err) != codes.DeadlineExceeded {
				r.err = status.FromContextError(ctx.Err()).Err()
			}
			if !begun && !interrupted {
				return nil, r.err
			}
			parts.Cut()
			if c.Partial && status.Code(r.err) == codes.DeadlineExceeded {
				r.err = nil
			}
			return parts.Answer(), r.err
		}
	}
}

// view shows an answer as it arrives.
type view interface {
	// part shows the next part of the answer.
	part(*stowagev1.PlaceStreamResponse) error
	// tick is called every interval.
	tick()
	interval() time.Duration
	close()
}

func (c *placeCommand) view(s *session, p *text.Place, parts *stowage.Parts) view {
	switch {
	case !c.Watch:
		return unseen{}
	case c.Output != table:
		return &messages{w: s.stdout, yaml: c.Output == asYAML, names: answer.NewPlacements(p.Snapshot)}
	case s.terminal != nil:
		return newScreen(s.raw, s.terminal, p, parts)
	}
	return &lines{w: s.stdout, place: p}
}

// unseen shows nothing.
type unseen struct{}

func (unseen) part(*stowagev1.PlaceStreamResponse) error { return nil }
func (unseen) tick()                                     {}
func (unseen) interval() time.Duration                   { return time.Hour }
func (unseen) close()                                    {}

// lines shows parts as lines, for output that cannot be overwritten.
type lines struct {
	w     io.Writer
	place *text.Place
	begun bool
}

func (l *lines) part(part *stowagev1.PlaceStreamResponse) error {
	l.place.Part(l.w, part)
	l.begun = true
	return nil
}

func (*lines) tick()                   {}
func (*lines) interval() time.Duration { return time.Hour }

func (l *lines) close() {
	if l.begun {
		fmt.Fprintln(l.w)
	}
}

// messages prints each part as a line of JSON or a document of YAML.
type messages struct {
	w     io.Writer
	yaml  bool
	names *answer.Placements
}

func (m *messages) part(part *stowagev1.PlaceStreamResponse) error {
	text, err := result.With(struct {
		Pods []answer.Pod `json:"pods"`
	}{m.names.Part(part)}, part)
	if err != nil {
		return err
	}
	return writePart(m.w, text, m.yaml)
}

func (*messages) tick()                   {}
func (*messages) interval() time.Duration { return time.Hour }
func (*messages) close()                  {}
