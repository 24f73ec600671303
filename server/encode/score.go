package encode

import (
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Score encodes the answer to a ScoreRequest, with each plugin's scores or without.
func Score(s *verdict.Score, names Names, plugins bool) *stowagev1.ScoreResponse {
	out := &stowagev1.ScoreResponse{
		Nodes:       names.list(s.Nodes),
		TotalScores: s.Totals,
		BestNodes:   names.list(s.Best),
		Message:     s.Message,
	}
	if !plugins {
		return out
	}
	for _, p := range s.Plugins {
		out.PluginScores = append(out.PluginScores, &stowagev1.PluginScores{
			Plugin:         plugin(p.Plugin),
			Weight:         int32(p.Weight), // at most 1,000,000
			WeightedScores: p.Scores,
		})
	}
	return out
}
