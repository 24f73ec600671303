package review

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// disabled reports whether a plugin of the profile does not filter.
func (r *Reviewer) disabled(plugin stowagev1.Plugin) bool {
	return slices.Contains(r.options.Profile.GetDisabledFilters(), plugin)
}

// weights finds preferences that the profile does not score by.
func (p *podReview) weights() {
	spec := &p.of.Pod.Spec
	for _, w := range p.options.Profile.GetPluginWeights() {
		if w.Weight == nil || w.GetWeight() != 0 {
			continue
		}
		var at *field.Path
		switch plugin := w.GetPlugin(); {
		case plugin == stowagev1.Plugin_PLUGIN_POD_TOPOLOGY_SPREAD:
			i := slices.IndexFunc(spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
				return c.WhenUnsatisfiable == corev1.ScheduleAnyway
			})
			if i >= 0 {
				at = p.of.Path.Child("topologySpreadConstraints").Index(i)
			}
		case spec.Affinity == nil:
		case plugin == stowagev1.Plugin_PLUGIN_NODE_AFFINITY:
			if a := spec.Affinity.NodeAffinity; a != nil && len(a.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
				at = p.of.Path.Child("affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
			}
		case plugin == stowagev1.Plugin_PLUGIN_INTER_POD_AFFINITY:
			if a := spec.Affinity.PodAffinity; a != nil && len(a.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
				at = p.of.Path.Child("affinity", "podAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
			}
			if a := spec.Affinity.PodAntiAffinity; a != nil && len(a.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
				at = p.of.Path.Child("affinity", "podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
			}
		}
		if at != nil {
			p.find(Warning, NoWeight, at, "its scores have a weight of 0 in the profile: the preference has no effect")
		}
	}
}
