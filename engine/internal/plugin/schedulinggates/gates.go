// Package schedulinggates holds back pods that have scheduling gates
// (pkg/scheduler/framework/plugins/schedulinggates, v1.37).
package schedulinggates

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Held returns why a pod is held back, and whether it is.
func Held(spec *api.PodSpec) (verdict.Reason, bool) {
	if len(spec.SchedulingGates) == 0 {
		return verdict.Reason{}, false
	}
	return verdict.Reason{
		Type:    verdict.ReasonSchedulingGated,
		Message: fmt.Sprintf("waiting for scheduling gates: %v", spec.SchedulingGates),
	}, true
}
