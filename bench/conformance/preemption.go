package conformance

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func differPreempt(want, got *stowagev1.PreemptResponse) []Difference {
	w, g := decidedPreemption(want.Preemption, true), decidedPreemption(got.Preemption, true)
	return first(
		differPreemption("preempt", w, g),
		differ("preempt feasible_nodes", want.FeasibleNodes.GetIndexes(), got.FeasibleNodes.GetIndexes()),
		differ("preempt message", want.Message, got.Message),
		differ("preempt internal_error", want.InternalError, got.InternalError),
	)
}

func differPreemption(kind string, want, got *stowagev1.Preemption) []Difference {
	if want == nil || got == nil {
		return differ(kind+" preemption", want, got)
	}
	return first(
		differ(kind+" candidates", want.Candidates, got.Candidates),
		differ(kind+" best_nodes", want.BestNodes, got.BestNodes),
		differ(kind+" rejections", want.Rejections, got.Rejections),
		differ(kind+" preemption message", want.Message, got.Message),
		differ(kind+" preemption", want, got),
	)
}

func differPlacePreempting(want, got *stowagev1.PlaceResponse) []Difference {
	for i, w := range want.Placements {
		g := got.Placements[i]
		d := first(
			differPreemption("place", decidedPreemption(w.Preemption, false), decidedPreemption(g.Preemption, false)),
			differ("place with preemption message", w.Message, g.Message),
		)
		if d != nil {
			d[0].Text = fmt.Sprintf("queue[%d]\n%s", i, d[0].Text)
			return d
		}
	}
	return nil
}

// decidedPreemption is a preemption without Stowage's own fields: the templates of pods, and lists that are empty instead of absent.
func decidedPreemption(p *stowagev1.Preemption, candidates bool) *stowagev1.Preemption {
	if p == nil {
		return nil
	}
	out := proto.CloneOf(p)
	if len(out.BestNodes.GetIndexes()) == 0 {
		out.BestNodes = nil
	}
	if !candidates {
		out.Candidates = nil
	}
	for _, c := range append(out.Candidates, out.Nominated) {
		for _, v := range c.GetVictims() {
			withoutTemplate(v)
		}
	}
	return out
}

func withoutTemplate(v *stowagev1.PodReference) {
	if _, ok := v.Origin.(*stowagev1.PodReference_TemplateIndex); ok {
		v.Origin = nil
	}
}
