package engine

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/imagelocality"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// scorer is a scoring plugin: it returns the normalized scores of the feasible nodes, nil if it skips the pod.
type scorer struct {
	plugin verdict.Plugin
	weight int64
	score  func(*plugin.Cycle, []uint32) []int64
}

func (d *decision) scorers() []scorer {
	w := &d.Profile.Weights
	return []scorer{
		{verdict.TaintToleration, w.TaintToleration, tainttoleration.Score},
		{verdict.NodeAffinity, w.NodeAffinity, nodeaffinity.Score},
		{verdict.NodeResourcesFit, w.NodeResourcesFit, noderesources.Score},
		{verdict.PodTopologySpread, w.PodTopologySpread, podtopologyspread.Score},
		{verdict.InterPodAffinity, w.InterPodAffinity, interpodaffinity.Score},
		{verdict.BalancedAllocation, w.BalancedAllocation, noderesources.BalancedScore},
		{verdict.ImageLocality, w.ImageLocality, imagelocality.Score},
	}
}

// score scores the feasible nodes (pkg/scheduler/framework/runtime/framework.go RunScorePlugins, v1.37), and tells each
// plugin's scores unless only the totals are asked for. Where kube-scheduler fails to score the pod, failure says so.
func (d *decision) score(ctx context.Context, feasible []uint32, totalsOnly bool) (*verdict.Score, error) {
	result := &verdict.Score{Nodes: feasible}
	d.failure = nil
	if len(feasible) == 0 {
		return result, nil
	}
	if len(feasible) > 1 {
		d.failure = preScoreFailure(d.Pod.Spec())
	}
	invalid := firstInvalid{at: len(feasible)}
	result.Totals = make([]int64, len(feasible))
	for _, s := range d.scorers() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		scores := s.score(d.Cycle, feasible)
		if scores == nil {
			continue
		}
		invalid.look(s.plugin, scores)
		totals := result.Totals[:len(scores)]
		for i, v := range scores {
			v *= s.weight
			scores[i] = v
			totals[i] += v
		}
		if !totalsOnly {
			result.Plugins = append(result.Plugins, verdict.PluginScores{Plugin: s.plugin, Weight: s.weight, Scores: scores})
			d.KeepScores()
		}
	}
	if d.failure == nil && len(feasible) > 1 {
		d.failure = invalid.failure()
	}
	best, count := slices.Max(result.Totals), 0
	for _, total := range result.Totals {
		if total == best {
			count++
		}
	}
	result.Best = make([]uint32, 0, count)
	for i, total := range result.Totals {
		if total == best {
			result.Best = append(result.Best, feasible[i])
		}
	}
	return result, ctx.Err()
}
