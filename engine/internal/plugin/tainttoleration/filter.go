package tainttoleration

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Tolerated returns the nodes without untolerated NoSchedule and NoExecute taints; nil for all.
func Tolerated(s *cluster.State, tolerations []api.Toleration, p *api.Profile) nodeset.Set {
	ok := make([]uint8, len(s.TaintLists()))
	all := true
	for class, list := range s.TaintLists() {
		if s.Ended() {
			break
		}
		if FirstUntolerated(list, tolerations, p) < 0 {
			ok[class] = 1
		} else {
			all = false
		}
	}
	if all {
		return nil
	}
	return s.Tainted(ok)
}

// FirstUntolerated returns the index of the first untolerated NoSchedule or NoExecute taint, -1 for none.
func FirstUntolerated(taints []api.Taint, tolerations []api.Toleration, p *api.Profile) int {
	for i := range taints {
		if hard(&taints[i]) && !Tolerate(tolerations, &taints[i], p) {
			return i
		}
	}
	return -1
}

// Untolerated returns the untolerated NoSchedule and NoExecute taints.
func Untolerated(taints []api.Taint, tolerations []api.Toleration, p *api.Profile) []api.Taint {
	var out []api.Taint
	for i := range taints {
		if hard(&taints[i]) && !Tolerate(tolerations, &taints[i], p) {
			out = append(out, taints[i])
		}
	}
	return out
}

// Plugin is TaintToleration.
var Plugin = &plugin.Plugin{
	Name:    verdict.TaintToleration,
	Compile: compile,
	Static:  true,
	Explain: explain,
	Score:   Score,
	Weight:  func(w *api.Weights) *int64 { return &w.TaintToleration },

	OwnRules: true,
}

func compile(c *plugin.Cycle, s *rule.Set) {
	if c.Tolerated == nil {
		return
	}
	s.Static = append(s.Static, rule.Static{
		ID:       verdict.PodRule{Plugin: verdict.TaintToleration},
		Code:     verdict.UnschedulableAndUnresolvable,
		Reason:   verdict.ReasonOf(verdict.ReasonUntoleratedTaint),
		Rejected: c.Without(c.Tolerated),
	})
}
