package interpodaffinity

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// preScoreError returns the error of PreScore, empty for none. PreFilter has the same one, unless the plugin does not filter
// (scoring.go PreScore, v1.37).
func preScoreError(spec *api.PodSpec, profile *api.Profile) string {
	if skipped(spec, profile) {
		return ""
	}
	if err := parseError(spec); err != "" {
		return "failed to parse pod: " + err
	}
	return ""
}

// parseError returns the text of the error with which the terms of a pod fail to parse, empty if they parse
// (pkg/scheduler/framework/types.go NewPodInfo, v1.37).
func parseError(spec *api.PodSpec) string {
	return selector.Aggregate(
		required("requiredAffinityTerms: ", spec.PodAffinity),
		required("requiredAntiAffinityTerms: ", spec.PodAntiAffinity),
		preferred("preferredAffinityTerms: ", spec.PodAffinity),
		preferred("preferredAntiAffinityTerms: ", spec.PodAntiAffinity),
	)
}

func required(list string, a *api.PodAffinity) string {
	if a != nil {
		for i := range a.Required {
			if err := selector.TermError(&a.Required[i]); err != "" {
				return list + err
			}
		}
	}
	return ""
}

func preferred(list string, a *api.PodAffinity) string {
	if a != nil {
		for i := range a.Preferred {
			if err := selector.TermError(&a.Preferred[i].Term); err != "" {
				return list + err
			}
		}
	}
	return ""
}
