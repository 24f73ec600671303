package engine

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/noderesources"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// scoreFailure is that kube-scheduler fails to score a pod. It does so only where several nodes are feasible: a single one
// is taken without scoring (pkg/scheduler/schedule_one.go schedulePod, v1.37).
type scoreFailure struct {
	plugin  verdict.Plugin
	reason  verdict.Reason
	message string // kube-scheduler's event text
}

// preScoreFailure returns the failure of the first plugin that fails before scoring, nil if none does
// (pkg/scheduler/framework/runtime/framework.go RunPreScorePlugins, v1.37).
func preScoreFailure(spec *api.PodSpec) *scoreFailure {
	if spec.NodeAffinity != nil {
		if err := selector.PreferredNodeTermsError(spec.NodeAffinity.Preferred); err != "" {
			return newPreScoreFailure(verdict.NodeAffinity, err)
		}
	}
	if err := podtopologyspread.PreScoreError(spec); err != "" {
		return newPreScoreFailure(verdict.PodTopologySpread, err)
	}
	return nil
}

func newPreScoreFailure(p verdict.Plugin, err string) *scoreFailure {
	return &scoreFailure{p, verdict.UnparsablePod(err), fmt.Sprintf("running PreScore plugin %q: %s", p, err)}
}

// rejection returns the rejection of all feasible nodes.
func (f *scoreFailure) rejection(feasible nodeset.Set) verdict.Rejection {
	return verdict.Rejection{Plugin: f.plugin, Code: verdict.Error, Reasons: []verdict.Reason{f.reason}, Nodes: feasible.Indexes()}
}

// firstInvalid finds the first score that kube-scheduler does not accept: that of the first node, and there of the first
// plugin (pkg/scheduler/framework/runtime/framework.go RunScorePlugins, v1.37). Only scores by resources can be invalid,
// because only these are not normalized.
type firstInvalid struct {
	at     int // among the feasible nodes, or their number if there is none
	plugin verdict.Plugin
	score  int64
}

func (f *firstInvalid) look(p verdict.Plugin, scores []int64) {
	if p != verdict.NodeResourcesFit && p != verdict.BalancedAllocation {
		return
	}
	for i, score := range scores[:f.at] {
		if !noderesources.Valid(score) {
			*f = firstInvalid{i, p, score}
			return
		}
	}
}

func (f *firstInvalid) failure() *scoreFailure {
	if f.plugin == verdict.NoPlugin {
		return nil
	}
	text := fmt.Sprintf("plugin %q returns an invalid score %d, it should in the range of [0, %d] after normalizing",
		f.plugin, f.score, plugin.MaxScore)
	return &scoreFailure{f.plugin, verdict.InvalidScore(text), "applying score defaultWeights on Score plugins: " + text}
}

// rejectedWhole reports whether a plugin rejects the pod as a whole because it cannot parse it.
func (d *decision) rejectedWhole() bool {
	return d.rejectedBy(verdict.PodTopologySpread) != nil || d.rejectedBy(verdict.InterPodAffinity) != nil
}

// unplaceable returns why kube-scheduler places the pod on none of the candidates, or on one at most, because it cannot parse
// the pod.
func (d *decision) unplaceable(candidates nodeset.Set) []verdict.JointRule {
	var rules []verdict.JointRule
	for _, p := range []verdict.Plugin{verdict.PodTopologySpread, verdict.InterPodAffinity} {
		if whole := d.rejectedBy(p); whole != nil {
			rules = append(rules, verdict.JointRule{Plugin: p, Error: whole.reason.Message})
		}
	}
	if failure := preScoreFailure(d.Pod.Spec()); failure != nil && d.static(candidates).Len() > 1 {
		rules = append(rules, verdict.JointRule{Plugin: failure.plugin, Error: failure.reason.Message})
	}
	return rules
}
