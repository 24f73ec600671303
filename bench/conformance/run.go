package conformance

import (
	"context"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Run makes the calls of a case and returns the differences from the case's answers. It calls Place only where Filter and
// Score agree: its differences would follow from theirs.
func Run(ctx context.Context, c *Case, service Service) []Difference {
	var out []Difference
	for i := range c.Request.Queue {
		filter, err := service.Filter(ctx, FilterRequest(c.Request, i))
		if err != nil {
			return append(out, failure("filter", err))
		}
		score, err := service.Score(ctx, ScoreRequest(c.Request, i))
		if err != nil {
			return append(out, failure("score", err))
		}
		out = append(out, differFilter(c.Filter[i], filter)...)
		out = append(out, differScore(c.Score[i], score)...)
		out = append(out, differ("score rejections", filter.Rejections, score.Rejections)...)
		if len(out) == 0 && c.Preempt != nil {
			out = preempt(ctx, c, i, service)
		}
	}
	if len(out) > 0 {
		return out
	}
	place, err := service.Place(ctx, c.Request)
	if err != nil {
		return append(out, failure("place", err))
	}
	if d := differPlace(c.Place, place); len(d) > 0 || c.PlacePreempting == nil {
		return d
	}
	request := proto.CloneOf(c.Request)
	request.IncludePreemption = true
	if place, err = service.Place(ctx, request); err != nil {
		return append(out, failure("place with preemption", err))
	}
	return differPlacePreempting(c.PlacePreempting, place)
}

// RunMember calls Filter and Score for the pod of the only entry, and returns the differences. decided removes what cannot be
// compared from the answers.
func RunMember(
	ctx context.Context, request *stowagev1.PlaceRequest, filter *stowagev1.FilterResponse, score *stowagev1.ScoreResponse, service Service,
	decided func(*stowagev1.FilterResponse) []Difference,
) []Difference {
	ask := FilterRequest(request, 0)
	ask.Explain = false
	got, err := service.Filter(ctx, ask)
	if err != nil {
		return []Difference{failure("filter of a member", err)}
	}
	if d := first(decided(got), differFilter(filter, got)); len(d) > 0 || score == nil {
		return d
	}
	scored, err := service.Score(ctx, ScoreRequest(request, 0))
	if err != nil {
		return []Difference{failure("score of a member", err)}
	}
	return differScore(score, scored)
}

// RunPreempt calls Preempt for the pod of the only entry, and returns the differences.
func RunPreempt(ctx context.Context, request *stowagev1.PlaceRequest, want *stowagev1.PreemptResponse, service Service) []Difference {
	got, err := service.Preempt(ctx, PreemptRequest(request, 0))
	if err != nil {
		return []Difference{failure("preempt", err)}
	}
	return differPreempt(want, got)
}

// preempt requests the preemption of an entry's pod, alone and with Filter, whose answers without it are known to agree.
func preempt(ctx context.Context, c *Case, i int, service Service) []Difference {
	want := c.Preempt[i]
	got, err := service.Preempt(ctx, PreemptRequest(c.Request, i))
	if err != nil {
		return []Difference{failure("preempt", err)}
	}
	if d := differPreempt(want, got); len(d) > 0 {
		return d
	}
	request := FilterRequest(c.Request, i)
	request.IncludePreemption = true
	filter, err := service.Filter(ctx, request)
	if err != nil {
		return []Difference{failure("filter with preemption", err)}
	}
	return first(
		differ("filter with preemption", decidedPreemption(want.Preemption, false), decidedPreemption(filter.Preemption, false)),
		differ("filter with preemption message", want.Message, filter.Message),
	)
}

func failure(what string, err error) Difference {
	return Difference{Kind: what + " fails", Text: err.Error()}
}
