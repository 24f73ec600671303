package kube

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// AnyScheduler is an Options.SchedulerName that all pods match.
const AnyScheduler = "*"

// leaveToOthers takes the pods of other schedulers out of the queue.
func (b *Builder) leaveToOthers() (others []Entry) {
	name := cmp.Or(b.options.SchedulerName, corev1.DefaultSchedulerName)
	if name == AnyScheduler {
		return nil
	}
	b.queue = slices.DeleteFunc(b.queue, func(s slot) bool {
		of := cmp.Or(s.facts.stamp.pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
		if of != name {
			others = append(others, Entry{Pods: s.pods, Origin: s.origin, Gone: s.gone, SchedulerName: of})
		}
		return of != name
	})
	return others
}

// sortQueue sorts the queue as kube-scheduler does: by priority, then by the time since which pods have waited, here that of
// their creation (pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.37). Pods without one come last, in the order
// in which they were added.
func (b *Builder) sortQueue() {
	slices.SortStableFunc(b.queue, func(x, y slot) int {
		return cmp.Or(cmp.Compare(y.priority(), x.priority()), compareTimes(x.created(), y.created()))
	})
}

func (s *slot) priority() int32 { return s.pods.GetPod().GetTemplate().GetSpec().GetPriority() }

func (s *slot) created() time.Time { return s.facts.stamp.pod.CreationTimestamp.Time }

// compareTimes orders times, the zero time last.
func compareTimes(x, y time.Time) int {
	switch {
	case x.IsZero() == y.IsZero():
		return x.Compare(y)
	case x.IsZero():
		return 1
	}
	return -1
}
