package conformance

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Difference is a difference between an answer and kube-scheduler's.
type Difference struct {
	// Kind names the field, such as "score InterPodAffinity": differences of one kind are likely to have one cause.
	Kind string
	// Text shows both, kube-scheduler's with a minus and the other with a plus.
	Text string
}

func (d Difference) String() string { return d.Kind + "\n" + d.Text }

// differ compares one field.
func differ(kind string, want, got any) []Difference {
	if same(want, got) {
		return nil
	}
	text := cmp.Diff(want, got, protocmp.Transform())
	if text == "" {
		return nil
	}
	return []Difference{{Kind: kind, Text: text}}
}

// same is a fast check for equality, which nearly all values pass. Values that fail it may still be equal.
func same(want, got any) bool {
	if w, ok := want.(proto.Message); ok {
		g, ok := got.(proto.Message)
		return ok && proto.Equal(w, g)
	}
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if w.Kind() != reflect.Slice || w.Type() != g.Type() || !w.Type().Elem().Implements(message) {
		return reflect.DeepEqual(want, got)
	}
	if w.Len() != g.Len() || w.IsNil() != g.IsNil() {
		return false
	}
	for i := range w.Len() {
		if !proto.Equal(w.Index(i).Interface().(proto.Message), g.Index(i).Interface().(proto.Message)) {
			return false
		}
	}
	return true
}

var message = reflect.TypeFor[proto.Message]()

// first returns the differences of the first field that has any: later differences follow from it.
func first(fields ...[]Difference) []Difference {
	for _, d := range fields {
		if len(d) > 0 {
			return d
		}
	}
	return nil
}

func differFilter(want, got *stowagev1.FilterResponse) []Difference {
	want, got = decidedFilter(want), decidedFilter(got)
	if proto.Equal(want, got) {
		return nil
	}
	return first(
		differ("filter rejections", want.Rejections, got.Rejections),
		differ("filter feasible_nodes", want.FeasibleNodes, got.FeasibleNodes),
		differ("filter message", want.Message, got.Message),
		differ("filter internal_error", want.InternalError, got.InternalError),
		differ("filter explanation", want.Explanation, got.Explanation),
		differ("filter", want, got),
	)
}

// decidedFilter returns a copy of the response without the fields that kube-scheduler has no counterpart of. The copy is shallow.
func decidedFilter(r *stowagev1.FilterResponse) *stowagev1.FilterResponse {
	return &stowagev1.FilterResponse{
		FeasibleNodes: r.FeasibleNodes,
		Rejections:    r.Rejections,
		Message:       r.Message,
		InternalError: r.InternalError,
		Explanation:   decidedExplanation(r.Explanation),
	}
}

func decidedExplanation(e *stowagev1.Explanation) *stowagev1.Explanation {
	if e == nil {
		return nil
	}
	return &stowagev1.Explanation{FailingChecks: e.FailingChecks}
}

// decidedScore returns a copy of the response without the fields that kube-scheduler has no counterpart of. The copy is shallow.
func decidedScore(r *stowagev1.ScoreResponse) *stowagev1.ScoreResponse {
	return &stowagev1.ScoreResponse{
		Nodes:         r.Nodes,
		PluginScores:  r.PluginScores,
		TotalScores:   r.TotalScores,
		BestNodes:     r.BestNodes,
		Message:       r.Message,
		InternalError: r.InternalError,
	}
}

func differScore(want, got *stowagev1.ScoreResponse) []Difference {
	want, got = decidedScore(want), decidedScore(got)
	if proto.Equal(want, got) {
		return nil
	}
	return first(
		differ("score nodes", want.Nodes, got.Nodes),
		differPlugins(want.PluginScores, got.PluginScores),
		differ("score total_scores", want.TotalScores, got.TotalScores),
		differ("score best_nodes", want.BestNodes, got.BestNodes),
		differ("score message", want.Message, got.Message),
		differ("score internal_error", want.InternalError, got.InternalError),
		differ("score", want, got),
	)
}

// differPlugins compares the columns, each plugin's under its own name.
func differPlugins(want, got []*stowagev1.PluginScores) []Difference {
	byPlugin := func(columns []*stowagev1.PluginScores) map[stowagev1.Plugin]*stowagev1.PluginScores {
		m := map[stowagev1.Plugin]*stowagev1.PluginScores{}
		for _, c := range columns {
			m[c.Plugin] = c
		}
		return m
	}
	w, g := byPlugin(want), byPlugin(got)
	var out []Difference
	for _, n := range slices.Sorted(maps.Keys(stowagev1.Plugin_name)) {
		p := stowagev1.Plugin(n)
		out = append(out, differ(fmt.Sprintf("score %v", p), w[p], g[p])...)
	}
	return first(out, differ("score plugin_scores", want, got))
}

func differPlace(want, got *stowagev1.PlaceResponse) []Difference {
	want, got = decidedPlace(want), decidedPlace(got)
	if proto.Equal(want, got) {
		return nil
	}
	if len(want.Placements) != len(got.Placements) {
		return differ("place placements", len(want.Placements), len(got.Placements))
	}
	for i, w := range want.Placements {
		g := got.Placements[i]
		if d := first(
			differ("place nodes", w.Nodes, g.Nodes),
			differ("place unplaced_count", w.UnplacedCount, g.UnplacedCount),
			differ("place message", w.Message, g.Message),
			differ("place internal_error", w.InternalError, g.InternalError),
			differ("place rejections", w.Rejections, g.Rejections),
			differ("place explanation", w.Explanation, g.Explanation),
		); d != nil {
			d[0].Text = fmt.Sprintf("queue[%d]\n%s", i, d[0].Text)
			return d
		}
	}
	return first(
		differ("place placed_count", want.PlacedCount, got.PlacedCount),
		differ("place unplaced_count", want.UnplacedCount, got.UnplacedCount),
		differ("place claim_bindings", want.ClaimBindings, got.ClaimBindings),
		differ("place", want, got),
	)
}

// DifferGroups compares answers to Place with pod groups.
func DifferGroups(want, got *stowagev1.PlaceResponse) []Difference {
	if len(want.PodGroups) != len(got.PodGroups) {
		return differ("group count", len(want.PodGroups), len(got.PodGroups))
	}
	for i, w := range want.PodGroups {
		g := got.PodGroups[i]
		if d := first(
			differ("group status", w.Status, g.Status),
			differ("group domains", w.Domains, g.Domains),
			differ("group placed_count", w.PlacedCount, g.PlacedCount),
			differ("group message", w.Message, g.Message),
			differ("group", w, g),
		); d != nil {
			d[0].Text = fmt.Sprintf("%s\n%s", w.Name, d[0].Text)
			return d
		}
	}
	return differPlace(want, got)
}

// decidedPlace returns a copy of the response without the fields that kube-scheduler has no counterpart of. The copy is shallow.
func decidedPlace(r *stowagev1.PlaceResponse) *stowagev1.PlaceResponse {
	out := &stowagev1.PlaceResponse{PlacedCount: r.PlacedCount, UnplacedCount: r.UnplacedCount, ClaimBindings: r.ClaimBindings}
	for _, p := range r.Placements {
		out.Placements = append(out.Placements, Decided(p))
	}
	return out
}

// Decided returns a copy of the placement without the fields that kube-scheduler has no counterpart of. The copy is shallow.
func Decided(p *stowagev1.Placement) *stowagev1.Placement {
	return &stowagev1.Placement{
		Nodes:         p.Nodes,
		UnplacedCount: p.UnplacedCount,
		InternalError: p.InternalError,
		Message:       p.Message,
		Rejections:    p.Rejections,
		Explanation:   decidedExplanation(p.Explanation),
	}
}
