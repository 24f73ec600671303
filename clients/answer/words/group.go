package words

import (
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// GroupStatus is a word for the status of a pod group.
func GroupStatus(s stowagev1.PodGroupStatus) string {
	switch s {
	case stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE:
		return "complete"
	case stowagev1.PodGroupStatus_POD_GROUP_STATUS_BEST_EFFORT:
		return "best effort"
	case stowagev1.PodGroupStatus_POD_GROUP_STATUS_INFEASIBLE:
		return "infeasible"
	case stowagev1.PodGroupStatus_POD_GROUP_STATUS_UNDECIDED:
		return "undecided"
	case stowagev1.PodGroupStatus_POD_GROUP_STATUS_UNATTEMPTED:
		return "unattempted"
	case stowagev1.PodGroupStatus_POD_GROUP_STATUS_EVICTED:
		return "evicted"
	}
	return s.String()
}

// OnlyRuns reports whether a group has no pods to place, and keeps enough of those on nodes: it is in the request for preemption.
func OnlyRuns(g *stowagev1.PodGroupPlacement) bool {
	return g.GetPlacedCount()+g.GetUnplacedCount() == 0 && g.GetStatus() != stowagev1.PodGroupStatus_POD_GROUP_STATUS_EVICTED
}

// Domains names topology domains.
func Domains(all []*stowagev1.TopologyDomain) string {
	var out []string
	for _, d := range all {
		out = append(out, d.GetTopologyKey()+"="+d.GetValue())
	}
	return Names(out)
}
