package conformance

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// RunQueue calls Place for a case's queue in the mode of kube-scheduler's scheduling queue, and returns the differences from the
// expected answer. Texts are compared whole, with their part about preemption.
func RunQueue(ctx context.Context, request *stowagev1.PlaceRequest, want *stowagev1.PlaceResponse, service Service,
	decided func(*stowagev1.PlaceResponse),
) []Difference {
	request = proto.CloneOf(request)
	request.QueueMode = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
	request.IncludePreemption, request.Explain = true, false
	got, err := service.Place(ctx, request)
	if err != nil {
		return []Difference{failure("queue", err)}
	}
	want = proto.CloneOf(want)
	decided(want)
	decided(got)
	return differQueue(want, got)
}

// differQueue compares what follows from the earliest decisions first.
func differQueue(want, got *stowagev1.PlaceResponse) []Difference {
	if len(want.Placements) != len(got.Placements) {
		return differ("queue placements", len(want.Placements), len(got.Placements))
	}
	if d := differ("queue evictions", decidedEvictions(want), decidedEvictions(got)); d != nil {
		return d
	}
	for _, field := range []struct {
		kind string
		of   func(*stowagev1.Placement) any
	}{
		{"queue nodes", func(p *stowagev1.Placement) any { return append([]uint32(nil), p.Nodes.GetIndexes()...) }},
		{"queue unplaced_count", func(p *stowagev1.Placement) any { return p.UnplacedCount }},
		{"queue evicted_count", func(p *stowagev1.Placement) any { return p.EvictedCount }},
		{"queue attempt_count", func(p *stowagev1.Placement) any { return p.AttemptCount }},
		{"queue message", func(p *stowagev1.Placement) any { return p.Message }},
		{"queue internal_error", func(p *stowagev1.Placement) any { return p.InternalError }},
		{"queue rejections", func(p *stowagev1.Placement) any { return append([]*stowagev1.Rejection(nil), p.Rejections...) }},
	} {
		for i, w := range want.Placements {
			if d := differ(field.kind, field.of(w), field.of(got.Placements[i])); d != nil {
				d[0].Text = fmt.Sprintf("queue[%d]\n%s", i, d[0].Text)
				return d
			}
		}
	}
	if d := differ("queue pod_groups", want.PodGroups, got.PodGroups); d != nil {
		return d
	}
	if d := differ("queue claim_bindings", want.ClaimBindings, got.ClaimBindings); d != nil {
		return d
	}
	counts := func(r *stowagev1.PlaceResponse) []uint32 {
		return []uint32{r.PlacedCount, r.UnplacedCount, r.EvictedCount}
	}
	return differ("queue counts", counts(want), counts(got))
}

// decidedEvictions are the evictions without the victims' templates, which only Stowage has.
func decidedEvictions(r *stowagev1.PlaceResponse) []*stowagev1.Eviction {
	var out []*stowagev1.Eviction
	for _, e := range r.Evictions {
		e = proto.CloneOf(e)
		for _, v := range e.Victims {
			withoutTemplate(v)
		}
		out = append(out, e)
	}
	return out
}
