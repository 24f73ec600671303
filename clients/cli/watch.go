package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/answer/place"
	"github.com/stowage-scheduler/stowage/clients/render/text"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// watch places the queue and shows each part: on a terminal as a changing picture, elsewhere in lines, or in JSON or YAML.
func watch(ctx context.Context, s *session, format string, q *answer.Question, o place.Options) (*place.Answer, error) {
	v := viewIn(s, format)
	defer v.close()
	tick := time.NewTicker(v.interval())
	defer tick.Stop()
	o.Ticks = tick.C
	o.Parts = func(part *stowagev1.PlaceStreamResponse, so *place.Answer) error {
		if part != nil {
			return v.part(part, so)
		}
		v.tick(so)
		tick.Reset(v.interval())
		return nil
	}
	return place.Ask(ctx, q, o)
}

// view shows an answer as it arrives.
type view interface {
	// part shows the next part of the answer, which so has.
	part(part *stowagev1.PlaceStreamResponse, so *place.Answer) error
	// tick is called every interval, with the answer so far.
	tick(so *place.Answer)
	interval() time.Duration
	close()
}

// viewIn returns the view of a format.
func viewIn(s *session, format string) view {
	switch {
	case format != table:
		return &messages{w: s.stdout, yaml: format == asYAML}
	case s.terminal != nil:
		return newScreen(s.raw, s.terminal)
	}
	return &lines{w: s.stdout}
}

// lines shows parts as lines, for output that cannot be overwritten.
type lines struct {
	w     io.Writer
	begun bool
}

func (l *lines) part(part *stowagev1.PlaceStreamResponse, so *place.Answer) error {
	text.PlacePart(l.w, so, part)
	l.begun = true
	return nil
}

func (*lines) tick(*place.Answer)      {}
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

func (m *messages) part(part *stowagev1.PlaceStreamResponse, so *place.Answer) error {
	if m.names == nil {
		m.names = answer.NewPlacements(so.Snapshot)
	}
	text, err := (&place.Part{Pods: m.names.Part(part), Response: part}).MarshalJSON()
	if err != nil {
		return err
	}
	return writePart(m.w, text, m.yaml)
}

func (*messages) tick(*place.Answer)      {}
func (*messages) interval() time.Duration { return time.Hour }
func (*messages) close()                  {}
