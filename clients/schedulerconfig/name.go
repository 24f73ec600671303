package schedulerconfig

import (
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Named returns a copy of a profile, nil for kube-scheduler's default, for pods with a schedulerName; "*" stands for all names.
func Named(p *stowagev1.Profile, schedulerName string) *stowagev1.Profile {
	if schedulerName == "" || schedulerName == corev1.DefaultSchedulerName {
		return p
	}
	out := &stowagev1.Profile{}
	if p != nil {
		out = proto.CloneOf(p)
	}
	out.SchedulerName = schedulerName
	return out
}
