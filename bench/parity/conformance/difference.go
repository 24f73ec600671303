package conformance

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Difference is something in which an answer differs from kube-scheduler's.
type Difference struct {
	// Kind names the field, such as "score InterPodAffinity": differences of one kind are likely to have one cause.
	Kind string
	// Text shows both, kube-scheduler's with a minus and the other with a plus.
	Text string
}

func (d Difference) String() string { return d.Kind + "\n" + d.Text }

// differ compares one field.
func differ(kind string, want, got any) []Difference {
	text := cmp.Diff(want, got, protocmp.Transform())
	if text == "" {
		return nil
	}
	return []Difference{{Kind: kind, Text: text}}
}

// first returns the differences of the first field that has any: what follows from it is no news.
func first(fields ...[]Difference) []Difference {
	for _, d := range fields {
		if len(d) > 0 {
			return d
		}
	}
	return nil
}

func differFilter(want, got *stowagev1.FilterResponse) []Difference {
	return first(
		differ("filter rejections", want.Rejections, got.Rejections),
		differ("filter feasible_nodes", want.FeasibleNodes, got.FeasibleNodes),
		differ("filter message", want.Message, got.Message),
		differ("filter explanation", failingOf(want.Explanation), failingOf(got.Explanation)),
		differ("filter", strip(want), strip(got)),
	)
}

func failingOf(e *stowagev1.Explanation) []*stowagev1.Rejection { return e.GetFailingChecks() }

// strip takes out the explanation, of which only the failing checks come from kube-scheduler.
func strip(r *stowagev1.FilterResponse) *stowagev1.FilterResponse {
	r = proto.CloneOf(r)
	r.Explanation = nil
	return r
}

func differScore(want, got *stowagev1.ScoreResponse) []Difference {
	return first(
		differ("score nodes", want.Nodes, got.Nodes),
		differPlugins(want.PluginScores, got.PluginScores),
		differ("score total_scores", want.TotalScores, got.TotalScores),
		differ("score best_nodes", want.BestNodes, got.BestNodes),
		differ("score message", want.Message, got.Message),
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
	for p := range stowagev1.Plugin(len(stowagev1.Plugin_name)) {
		out = append(out, differ(fmt.Sprintf("score %v", p), w[p], g[p])...)
	}
	return first(out, differ("score plugin_scores", want, got))
}

func differPlace(want, got *stowagev1.PlaceResponse) []Difference {
	if len(want.Placements) != len(got.Placements) {
		return differ("place placements", len(want.Placements), len(got.Placements))
	}
	for i, w := range want.Placements {
		g := got.Placements[i]
		if d := first(
			differ("place nodes", w.Nodes, g.Nodes),
			differ("place unplaced_count", w.UnplacedCount, g.UnplacedCount),
			differ("place message", w.Message, g.Message),
			differ("place rejections", w.Rejections, g.Rejections),
			differ("place explanation", failingOf(w.Explanation), failingOf(g.Explanation)),
		); d != nil {
			d[0].Text = fmt.Sprintf("queue[%d]\n%s", i, d[0].Text)
			return d
		}
	}
	return first(
		differ("place placed_count", want.PlacedCount, got.PlacedCount),
		differ("place unplaced_count", want.UnplacedCount, got.UnplacedCount),
	)
}
