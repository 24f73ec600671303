package batch

import (
	"context"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
)

// Limits of concurrent and of queued events. client-go's broadcaster starts a call for each event at once.
const (
	eventsAtATime = 4
	eventsWaiting = 4096
)

// eventSink sends a few events at a time. A dropped event counts as recorded, so that client-go does not retry it; later events
// about the pod are sent as usual.
type eventSink struct {
	events.EventSink
	line    *line
	dropped func()
}

func newEventSink(api kubernetes.Interface, dropped func()) *eventSink {
	return &eventSink{&events.EventSinkImpl{Interface: api.EventsV1()}, newLine(eventsAtATime, eventsWaiting), dropped}
}

// Create implements events.EventSink.
func (s *eventSink) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	return s.send(e, func() (*eventsv1.Event, error) { return s.EventSink.Create(ctx, e) })
}

// Patch implements events.EventSink.
func (s *eventSink) Patch(ctx context.Context, e *eventsv1.Event, patch []byte) (*eventsv1.Event, error) {
	return s.send(e, func() (*eventsv1.Event, error) { return s.EventSink.Patch(ctx, e, patch) })
}

func (s *eventSink) send(e *eventsv1.Event, call func() (*eventsv1.Event, error)) (out *eventsv1.Event, err error) {
	if !s.line.do(func() { out, err = call() }) {
		s.dropped()
		return e, nil
	}
	return out, err
}
