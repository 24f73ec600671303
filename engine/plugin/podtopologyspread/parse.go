package podtopologyspread

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/selector"
)

// ParseError returns the text of the error with which a pod's hard or soft constraints fail to parse, empty if they parse
// (common.go filterTopologySpreadConstraints, v1.37).
func ParseError(spec *api.PodSpec, soft bool) string {
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
