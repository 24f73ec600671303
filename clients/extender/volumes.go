package extender

import (
	"slices"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// leftToScheduler are the filters that kube-scheduler alone evaluates. What it has reserved for decided pods is in its memory until it
// is written, and so is what a controller has just bound: the informers of this process may show either later. Which claims and
// volumes there are does not depend on pods on nodes, which is what this process may know better.
var leftToScheduler = []stowagev1.Plugin{stowagev1.Plugin_PLUGIN_VOLUME_BINDING, stowagev1.Plugin_PLUGIN_VOLUME_ZONE}

// withoutBinding returns a profile without leftToScheduler.
func withoutBinding(p *stowagev1.Profile) *stowagev1.Profile {
	out := &stowagev1.Profile{}
	if p != nil {
		out = proto.CloneOf(p)
	}
	for _, plugin := range leftToScheduler {
		if !slices.Contains(out.DisabledFilters, plugin) {
			out.DisabledFilters = append(out.DisabledFilters, plugin)
		}
	}
	return out
}

// profile returns the profile to decide about a pod by.
func (e *Extender) profile(pod *stowagev1.Pod) *stowagev1.Profile {
	if slices.ContainsFunc(pod.GetTemplate().GetSpec().GetVolumes(), func(v *stowagev1.Volume) bool {
		return v.GetPersistentVolumeClaim() != nil || v.GetEphemeral() != nil
	}) {
		return e.claimsProfile
	}
	return e.options.Profile
}
