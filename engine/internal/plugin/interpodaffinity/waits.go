package interpodaffinity

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
)

// waits returns which pods are waited for: one that comes and matches all affinity terms, one that leaves and matches an
// anti-affinity term or has one that matches the pod. The namespace selectors of these terms are not resolved here: they
// select as if no namespace had labels. If terms do not parse, every pod is waited for (plugin.go
// isSchedulableAfterAssignedPodChange, v1.37).
func waits(c *plugin.Cycle) func(*plugin.Event) bool {
	spec, own := c.Pod.Spec(), c.Pod.Shape
	if required("", spec.PodAffinity) != "" || required("", spec.PodAntiAffinity) != "" {
		return func(*plugin.Event) bool { return true }
	}
	return func(e *plugin.Event) bool {
		if !e.Left {
			return len(own.Affinity) > 0 && matchesAll(own.Affinity, e.Shape)
		}
		return e.Unparsable || matchesAny(own.AntiAffinity, e.Shape) || matchesAny(e.AntiAffinity, own)
	}
}

func matchesAny(terms []cluster.Term, s *cluster.Shape) bool {
	return slices.ContainsFunc(terms, func(t cluster.Term) bool { return t.Matches(s.Namespace, nil, s.Labels) })
}
