package decide

import (
	"context"
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Score scores the feasible nodes (pkg/scheduler/framework/runtime/framework.go RunScorePlugins, v1.37). With
// totalsOnly it leaves out the scores by plugin. It sets Failure where kube-scheduler fails to score the pod.
func (d *Decision) Score(ctx context.Context, feasible []uint32, totalsOnly bool) (*verdict.Score, error) {
	return d.ScoreIn(ctx, feasible, nil, totalsOnly)
}

// ScoreIn is Score with memory for the totals.
func (d *Decision) ScoreIn(ctx context.Context, feasible []uint32, totals []int64, totalsOnly bool) (*verdict.Score, error) {
	result := &verdict.Score{Nodes: feasible}
	d.Failure = nil
	if len(feasible) == 0 {
		return result, nil
	}
	if cap(totals) < len(feasible) {
		totals = make([]int64, len(feasible))
	}
	result.Totals = totals[:len(feasible)]
	clear(result.Totals)
	return result, d.score(ctx, result, totalsOnly)
}

// Best returns the nodes with the highest total of at least one feasible node, as Score does. totals is memory for the next call.
func (d *Decision) Best(ctx context.Context, feasible []uint32, totals *[]int64) ([]uint32, error) {
	*totals = slices.Grow((*totals)[:0], len(feasible))[:len(feasible)]
	clear(*totals)
	result := &verdict.Score{Nodes: feasible, Totals: *totals}
	d.Failure = nil
	err := d.score(ctx, result, true)
	return result.Best, err
}

// score adds the scores of the feasible nodes to a result with zero totals.
func (d *Decision) score(ctx context.Context, result *verdict.Score, totalsOnly bool) error {
	feasible := result.Nodes
	if len(feasible) > 1 {
		d.Failure = d.PreScoreFailure(d.Pod.Spec())
	}
	invalid := firstInvalid{at: len(feasible)}
	for _, p := range d.Scorers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if (len(feasible) == 1 || d.Failure != nil) && d.preScoreError(p, d.Pod.Spec()) != "" {
			continue
		}
		scores := p.Score(d.Cycle, feasible)
		if scores == nil {
			continue
		}
		if p.Unbounded {
			invalid.look(p.Name, scores)
		}
		weight := *p.Weight(&d.Profile.Weights)
		totals := result.Totals[:len(scores)]
		for i, v := range scores {
			v *= weight
			scores[i] = v
			totals[i] += v
		}
		if !totalsOnly {
			result.Plugins = append(result.Plugins, verdict.PluginScores{Plugin: p.Name, Weight: weight, Scores: scores})
			d.KeepScores()
		}
	}
	if d.Failure == nil && len(feasible) > 1 {
		d.Failure = invalid.failure()
	}
	result.Best = best(feasible, result.Totals)
	return ctx.Err()
}

func best(nodes []uint32, totals []int64) []uint32 {
	most, count := slices.Max(totals), 0
	for _, total := range totals {
		if total == most {
			count++
		}
	}
	out := make([]uint32, 0, count)
	for i, total := range totals {
		if total == most {
			out = append(out, nodes[i])
		}
	}
	return out
}

// Failure is kube-scheduler's failure to score a pod. It needs several feasible nodes, because kube-scheduler takes a
// single one without scoring (pkg/scheduler/schedule_one.go schedulePod, v1.37).
type Failure struct {
	Plugin  verdict.Plugin
	Reason  verdict.Reason
	Message string // kube-scheduler's event text
}

// Rejection returns the rejection of all feasible nodes.
func (f *Failure) Rejection(feasible nodeset.Set) verdict.Rejection {
	return verdict.Rejection{Plugin: f.Plugin, Code: verdict.Error, Reasons: []verdict.Reason{f.Reason}, Nodes: feasible.Indexes()}
}

// PreScoreFailure returns the failure of the first plugin whose PreScore fails, nil if there is none
// (pkg/scheduler/framework/runtime/framework.go RunPreScorePlugins, v1.37).
func (f *Framework) PreScoreFailure(spec *api.PodSpec) *Failure {
	for _, p := range f.Scorers {
		if err := f.preScoreError(p, spec); err != "" {
			return &Failure{p.Name, verdict.UnparsablePod(err), fmt.Sprintf("running PreScore plugin %q: %s", p.Name, err)}
		}
	}
	return nil
}

// preScoreError returns the error of a plugin's PreScore, which then scores no node, or nothing.
func (f *Framework) preScoreError(p *plugin.Plugin, spec *api.PodSpec) string {
	if p.PreScoreError == nil {
		return ""
	}
	return p.PreScoreError(spec, f.profile)
}

// firstInvalid finds the first score that kube-scheduler rejects: on the first node with one, the score of the first plugin
// (pkg/scheduler/framework/runtime/framework.go RunScorePlugins, v1.37).
type firstInvalid struct {
	at     int // index of the node, or the number of nodes for none
	plugin verdict.Plugin
	score  int64
}

func (f *firstInvalid) look(p verdict.Plugin, scores []int64) {
	for i, score := range scores[:f.at] {
		if !noderesources.Valid(score) {
			*f = firstInvalid{i, p, score}
			return
		}
	}
}

func (f *firstInvalid) failure() *Failure {
	if f.plugin == verdict.NoPlugin {
		return nil
	}
	text := fmt.Sprintf("plugin %q returns an invalid score %d, it should in the range of [0, %d] after normalizing",
		f.plugin, f.score, plugin.MaxScore)
	return &Failure{f.plugin, verdict.InvalidScore(text), "applying score defaultWeights on Score plugins: " + text}
}
