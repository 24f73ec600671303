package words

import (
	"fmt"

	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// UnderWay says how the rollout goes on that creates a pod without a node; empty if it says nothing about the pod.
func UnderWay(r *whatif.Rollout) string {
	switch {
	case r == nil:
		return ""
	case r.Complete:
		return fmt.Sprintf("The rollout of %s goes on: old pods leave first, and all %s are replaced.", OfRollout(r), Plural(uint64(r.Replicas), "pod"))
	case r.Stuck.OwnPods:
		return fmt.Sprintf("The rollout of %s waits for itself: its old pods stand in the way, and stay until this one has a node.", OfRollout(r))
	}
	return ""
}

// InPlace describes a rollout in which an old pod leaves before a new one comes; empty if that does not place the pod.
func (x *Explanation) InPlace() string {
	r := x.Rollout
	if r == nil || r.Stuck == nil || !r.Stuck.InPlace {
		return ""
	}
	return fmt.Sprintf("maxSurge 0 and maxUnavailable 1 in the rollout of %s: an old pod leaves first; then all %s are replaced",
		OfRollout(r), Plural(uint64(r.Replicas), "pod"))
}

// OfRollout names the workload of a rollout.
func OfRollout(r *whatif.Rollout) string { return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name) }

// Rollouts reports in one line how rollouts go.
func Rollouts(all []*whatif.Rollout) string {
	if len(all) > 1 {
		n := 0
		for _, r := range all {
			if r.Fine() {
				n++
			}
		}
		return fmt.Sprintf("%d of %s complete", n, Plural(len(all), "rollout"))
	}
	r := all[0]
	text := fmt.Sprintf("rollout of %s: %d of %s replaced", OfRollout(r), r.Placed, Plural(r.Replicas-r.Partition, "pod"))
	if !r.Complete {
		text += ", and it does not go on"
	}
	if len(r.Broken) > 0 {
		text += ", but its rules do not hold in the end"
	}
	return text
}
