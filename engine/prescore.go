package engine

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/selector"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// scoreFailure is that kube-scheduler fails to score a pod. It does so only where several nodes are feasible: a single one
// is taken without scoring (pkg/scheduler/schedule_one.go schedulePod, v1.37).
type scoreFailure struct {
	plugin verdict.Plugin
	text   string
}

// scoreFailureOf returns the failure of the first plugin that fails, nil if none does
// (pkg/scheduler/framework/runtime/framework.go RunPreScorePlugins, v1.37).
func scoreFailureOf(spec *api.PodSpec) *scoreFailure {
	if spec.NodeAffinity != nil {
		if err := selector.PreferredNodeTermsError(spec.NodeAffinity.Preferred); err != "" {
			return &scoreFailure{verdict.NodeAffinity, err}
		}
	}
	if err := podtopologyspread.PreScoreError(spec); err != "" {
		return &scoreFailure{verdict.PodTopologySpread, err}
	}
	return nil
}

// message returns kube-scheduler's event text.
func (f *scoreFailure) message() string {
	return fmt.Sprintf("running PreScore plugin %q: %s", f.plugin, f.text)
}

// rejection returns that the feasible nodes are not taken.
func (f *scoreFailure) rejection(feasible nodeset.Set) verdict.Rejection {
	return verdict.Rejection{
		Plugin: f.plugin, Code: verdict.Error, Reasons: []verdict.Reason{verdict.UnparsablePod(f.text)}, Nodes: feasible.Indexes(),
	}
}

// unplaceable returns the plugins that reject the pod as a whole because they cannot parse it, or fail to score it.
func (d *decision) unplaceable() []verdict.Plugin {
	var plugins []verdict.Plugin
	for _, p := range []verdict.Plugin{verdict.PodTopologySpread, verdict.InterPodAffinity} {
		if d.rejectedBy(p) != nil {
			plugins = append(plugins, p)
		}
	}
	if failure := scoreFailureOf(d.Pod.Spec()); failure != nil {
		plugins = append(plugins, failure.plugin)
	}
	return plugins
}
