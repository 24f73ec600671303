package podtopologyspread

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// preFilterError returns the error of PreFilter, empty for none (filtering.go calPreFilterState, v1.37).
func preFilterError(spec *api.PodSpec) string {
	return within("get constraints from pod: obtaining pod's hard topology spread constraints: ", parseError(spec, false))
}

// preScoreError returns the error of PreScore, empty for none (scoring.go PreScore, v1.37).
func preScoreError(spec *api.PodSpec, _ *api.Profile) string {
	return within("calculating preScoreState: obtaining pod's soft topology spread constraints: ", parseError(spec, true))
}

func within(context, err string) string {
	if err == "" {
		return ""
	}
	return context + err
}

// parseError returns the error in a pod's hard or soft constraints, empty for none (common.go
// filterTopologySpreadConstraints, v1.37).
func parseError(spec *api.PodSpec, soft bool) string {
	for i := range spec.Spread {
		if spec.Spread[i].ScheduleAnyway != soft {
			continue
		}
		if err := selector.LabelSelectorError(spec.Spread[i].LabelSelector); err != "" {
			return err
		}
	}
	return ""
}
