package oracle

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// OverflowError means that the scores of a single feasible node are unknown, because hundredths of an amount do not fit into 64 bits
// (least_allocated.go, v1.37). kube-scheduler chooses the node without scoring it.
type OverflowError struct{ error }

// invalidScore reports whether an error is about a score outside its range. The error names the first such node, in the order in
// which nodes happen to be scored: with one worker, the order of the nodes.
func invalidScore(text string) bool { return strings.Contains(text, "returns an invalid score") }

func (s *Scheduler) score(state fwk.CycleState, pod *corev1.Pod, feasible []fwk.NodeInfo, d *Decision) error {
	var without []string
	if status := s.framework.RunPreScorePlugins(s.ctx, state, pod, feasible); !status.IsSuccess() {
		var err error
		if len(feasible) > 1 {
			d.Unscored, err = failureOf(status)
			return err
		}
		if pod, without, err = s.scorable(state, pod, feasible); err != nil {
			return err
		}
	}
	nodes, status := s.framework.RunScorePlugins(s.ctx, state, pod, feasible)
	if !status.IsSuccess() {
		if !invalidScore(status.Message()) {
			return fmt.Errorf("score: %w", status.AsError())
		}
		if len(feasible) == 1 {
			return &OverflowError{status.AsError()}
		}
		d.Message = status.AsError().Error()
		var err error
		d.Unscored, err = failureOf(status)
		return err
	}
	totals := make([]int64, len(nodes))
	for i, p := range nodes[0].Scores {
		if slices.Contains(without, p.Name) || p.Name == names.VolumeBinding && !Claims(pod) { // which gives every node 0
			continue
		}
		column := Scores{Plugin: p.Name, Weight: s.weights[p.Name]}
		for at, n := range nodes {
			column.Scores = append(column.Scores, n.Scores[i].Score)
			totals[at] += n.Scores[i].Score
		}
		if p.Name == names.DynamicResources && !slices.ContainsFunc(column.Scores, func(score int64) bool { return score != 0 }) {
			continue // it scores lists of requests alone, and gives all other pods 0
		}
		d.Scores = append(d.Scores, column)
	}
	best := int64(-1)
	for i, n := range nodes {
		if len(without) == 0 && n.TotalScore != totals[i] {
			return fmt.Errorf("the scores of %s add up to %d, kube-scheduler's total is %d", n.Name, totals[i], n.TotalScore)
		}
		d.Totals = append(d.Totals, totals[i])
		if totals[i] > best {
			best, d.Best = totals[i], nil
		}
		if totals[i] == best {
			d.Best = append(d.Best, d.Feasible[i])
		}
	}
	return nil
}

// scorable returns the pod without the parts for which plugins fail to score it, and these plugins, whose scores mean nothing.
func (s *Scheduler) scorable(state fwk.CycleState, pod *corev1.Pod, feasible []fwk.NodeInfo) (*corev1.Pod, []string, error) {
	pod = pod.DeepCopy()
	var plugins []string
	for {
		status := s.framework.RunPreScorePlugins(s.ctx, state, pod, feasible)
		if status.IsSuccess() {
			return pod, plugins, nil
		}
		failure, err := failureOf(status)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case slices.Contains(plugins, failure.Plugin):
			return nil, nil, status.AsError()
		case failure.Plugin == names.NodeAffinity:
			pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
		case failure.Plugin == names.InterPodAffinity: // only where it does not filter
			pod.Spec.Affinity.PodAffinity, pod.Spec.Affinity.PodAntiAffinity = nil, nil
		case failure.Plugin == names.PodTopologySpread:
			pod.Spec.TopologySpreadConstraints = nil
		}
		plugins = append(plugins, failure.Plugin)
	}
}

// failureOf returns the plugin that failed, which only the text of the framework's error names.
func failureOf(status *fwk.Status) (*Refusal, error) {
	_, text, _ := strings.Cut(status.AsError().Error(), `plugin "`)
	plugin, _, ok := strings.Cut(text, `"`)
	if !ok {
		return nil, status.AsError()
	}
	return failed(plugin, status)
}
