// Package schedulinggates rejects pods with scheduling gates
// (pkg/scheduler/framework/plugins/schedulinggates, v1.37).
package schedulinggates

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Plugin is SchedulingGates.
var Plugin = &plugin.Plugin{Name: verdict.SchedulingGates, PreEnqueue: preEnqueue}

func preEnqueue(spec *api.PodSpec) (verdict.Reason, bool) {
	if len(spec.SchedulingGates) == 0 {
		return verdict.Reason{}, false
	}
	return verdict.Reason{
		Type:    verdict.ReasonSchedulingGated,
		Message: fmt.Sprintf("waiting for scheduling gates: %v", spec.SchedulingGates),
	}, true
}
