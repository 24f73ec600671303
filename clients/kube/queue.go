package kube

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
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
			e := b.entry(s, "")
			e.SchedulerName = of
			others = append(others, e)
		}
		return of != name
	})
	return others
}

// leaveOut takes the pods that the flags do not choose out of the queue, and returns their number.
func (b *Builder) leaveOut() (pods uint64) {
	asked := func(s slot) bool {
		return (b.options.Namespace == "" || s.origin.Namespace == b.options.Namespace) &&
			(b.options.Labels == nil || b.options.Labels.Matches(labels.Set(s.facts.stamp.pod.Labels)))
	}
	groups := map[string]bool{}
	for _, s := range b.queue {
		if s.facts.group != "" && asked(s) {
			groups[s.facts.group] = true
		}
	}
	b.queue = slices.DeleteFunc(b.queue, func(s slot) bool {
		if asked(s) || groups[s.facts.group] {
			return false
		}
		pods += uint64(s.pods.GetCount())
		return true
	})
	b.waiting = slices.DeleteFunc(b.waiting, func(e Entry) bool {
		return b.options.Namespace != "" && e.Origin.Namespace != b.options.Namespace
	})
	return pods
}

// sortQueue sorts the queue as kube-scheduler does. Pods that are equal in it keep the order in which they were added.
func (b *Builder) sortQueue() {
	slices.SortStableFunc(b.queue, func(x, y slot) int {
		return ComparePending(x.pods.GetPod(), y.pods.GetPod(), x.created(), y.created())
	})
}

// ComparePending orders pending pods, with templates of their own, as kube-scheduler's queue does: by priority, then by the time
// since which they have waited, here that of their creation (pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.37).
// Pods without one come last.
func ComparePending(x, y *stowagev1.Pod, xCreated, yCreated time.Time) int {
	return cmp.Or(
		cmp.Compare(y.GetTemplate().GetSpec().GetPriority(), x.GetTemplate().GetSpec().GetPriority()),
		compareTimes(xCreated, yCreated),
	)
}

// Alike reports whether pending pods differ in their names at most, so that they can share an entry of a queue. A nominated pod
// is like no other: its name tells which one it is.
func Alike(x, y *stowagev1.Pod) bool {
	return x == y || len(x.Labels)+len(y.Labels)+len(x.Unread)+len(y.Unread) == 0 && x.NominatedNodeName+y.NominatedNodeName == "" &&
		x.Terminating == y.Terminating && x.GetTemplateIndex() == y.GetTemplateIndex() && proto.Equal(x.GetTemplate(), y.GetTemplate())
}

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
