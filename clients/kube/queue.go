package kube

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/change"
	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// AnyScheduler is an Options.SchedulerName that all pods match.
const AnyScheduler = "*"

// queue is the pending pods.
type queue struct {
	slots   []slot
	waiting []Entry
}

// slot is a position in the queue: pods, or a DaemonSet whose pods depend on the nodes.
type slot struct {
	source    convert.Source
	at        string
	pods      *stowagev1.PendingPods
	daemonSet *appsv1.DaemonSet
	gone      string // the pod's former node, which is not in the cluster
}

// newSlot returns the slot of a converted pod.
func (b *Builder) newSlot(of convert.Source, at string, pod *stowagev1.Pod, count uint32) slot {
	pods := &stowagev1.PendingPods{Pod: pod, Count: new(count), PodGroup: of.PodGroup()}
	path := strings.TrimSuffix(strings.TrimSuffix(of.Path.String(), "spec"), ".")
	b.objects.places[pods], b.objects.places[pod] = convert.Place{At: at}, convert.Place{At: at, Path: path}
	return slot{source: of, at: at, pods: pods}
}

// enqueue appends pods to the queue, all or none; path is the path of their spec in the object.
func (b *Builder) enqueue(origin Origin, path *field.Path, stamps ...controller.Stamp) error {
	if err := b.room.take(stamps...); err != nil {
		return err
	}
	slots := make([]slot, 0, len(stamps))
	for _, s := range stamps {
		if s.Count == 0 {
			continue
		}
		of := convert.Source{Object: origin, Path: path, Pod: s.Pod, Claims: s.Claims, Named: s.Named}
		pod, err := new(convert.Environment).PendingPod(of)
		if err != nil {
			return err
		}
		slots = append(slots, b.newSlot(of, b.objects.at, pod, s.Count))
	}
	b.queue.slots = append(b.queue.slots, slots...)
	return nil
}

// entry returns the entry of a slot. message is why its pods wait, empty if they are in the queue.
func (b *Builder) entry(s slot, message string) Entry {
	out := Entry{Pods: s.pods, Origin: s.source.Object, Workload: s.source.Object, Gone: s.gone, Message: message}
	out.object = s.source.Pod
	out.owners = b.workloads.owners.Chain(out.object)
	if s.source.Object.Kind == "Pod" {
		out.Workload = out.owners[len(out.owners)-1]
	}
	return out
}

// expandDaemonSets replaces each DaemonSet in the queue by its pods.
func (b *Builder) expandDaemonSets() {
	slots := b.queue.slots
	b.queue.slots = nil
	for _, s := range slots {
		if s.daemonSet == nil {
			b.queue.slots = append(b.queue.slots, s)
			continue
		}
		b.objects.at = s.at
		for nodes := range slices.Chunk(b.nodes.objects, atOnce(&s.daemonSet.Spec.Template)) {
			stamps, err := controller.DaemonPods(s.daemonSet, nodes)
			if err == nil {
				err = b.enqueue(s.source.Object, convert.TemplateSpecPath, stamps...)
			}
			_ = b.misreadPods(s.source.Object, uint32(len(stamps)), err)
			if b.room.err != nil {
				return
			}
		}
	}
}

// dropPresent takes pods of new workloads out of the queue that are there already: a dump of nodes and pods has pods, but not the
// objects that created them. Which template these pods have is not known.
func (b *Builder) dropPresent() {
	present := map[Origin][]*corev1.Pod{}
	add := func(p *corev1.Pod) {
		if p.DeletionTimestamp == nil {
			for _, o := range b.workloads.owners.Chain(p)[1:] {
				present[o] = append(present[o], p)
			}
		}
	}
	for i := range b.nodes.converted {
		for _, r := range b.nodes.residents[i] {
			add(r.source.Pod)
		}
	}
	for _, s := range b.queue.slots {
		if s.source.Object.Kind == "Pod" {
			add(s.source.Pod)
		}
	}
	dropped := map[Origin]int{}
	b.queue.slots = slices.DeleteFunc(b.queue.slots, func(s slot) bool {
		of := present[s.source.Object]
		if len(of) == 0 {
			return false
		}
		fresh := s.source.Pod
		n := min(len(of), int(s.pods.GetCount()))
		switch s.source.Object.Kind {
		case "StatefulSet":
			of = slices.DeleteFunc(slices.Clone(of), func(p *corev1.Pod) bool { return p.Name != fresh.Name })
			n = min(n, len(of))
		case "DaemonSet":
			of = slices.DeleteFunc(slices.Clone(of), func(p *corev1.Pod) bool {
				return p.Spec.NodeName != controller.PinnedNode(fresh) && controller.PinnedNode(p) != controller.PinnedNode(fresh)
			})
			n = min(n, len(of))
		default:
			present[s.source.Object] = of[n:]
		}
		if n == 0 {
			return false
		}
		if dropped[s.source.Object] == 0 {
			b.effects.Undecided = append(b.effects.Undecided, change.Undecided{Origin: s.source.Object, At: s.at})
		}
		dropped[s.source.Object] += n
		*s.pods.Count -= uint32(n)
		return *s.pods.Count == 0
	})
	for i := range b.effects.Undecided {
		if u := &b.effects.Undecided[i]; u.Message == "" {
			u.Message = fmt.Sprintf("%d of its pods are in the cluster, and are not added again; without the object that created them it is "+
				"not known if its template changes", dropped[u.Origin])
		}
	}
}

// admitPending converts pending pods without a uid again if admission plugins concern them, once everything is added. Pods
// that the API server would reject leave the queue.
func (b *Builder) admitPending() {
	b.queue.slots = slices.DeleteFunc(b.queue.slots, func(s slot) bool {
		err := b.admitAgain(s.pods.Pod, s.source)
		if err != nil {
			b.queue.waiting = append(b.queue.waiting, b.entry(s, err.Error()))
		}
		return err != nil
	})
	for i := range b.workloads.scalables {
		s := &b.workloads.scalables[i]
		_ = b.admitAgain(s.Pod, s.source) // the pods of the workload exist
	}
}

// setClaims sets the claims and disks of pending pods, once everything is added.
func (b *Builder) setClaims() {
	for _, s := range b.queue.slots {
		b.environment.AddClaims(s.pods.Pod, s.source)
	}
	for i := range b.workloads.scalables {
		s := &b.workloads.scalables[i]
		b.environment.AddClaims(s.Pod, s.source)
	}
}

// admitAgain converts a pending pod again, in place. After an error the pod is as it was.
func (b *Builder) admitAgain(converted *stowagev1.Pod, of convert.Source) error {
	if !b.environment.Concern(of.Pod) {
		return nil
	}
	again, err := b.environment.PendingPod(of)
	if err != nil {
		return err
	}
	replace(converted, again)
	return nil
}

// leaveToOthers takes the pods of other schedulers out of the queue.
func (b *Builder) leaveToOthers() (others []Entry) {
	name := cmp.Or(b.options.SchedulerName, corev1.DefaultSchedulerName)
	if name == AnyScheduler {
		return nil
	}
	b.queue.slots = slices.DeleteFunc(b.queue.slots, func(s slot) bool {
		of := cmp.Or(s.source.Pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
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
	chosen := func(s slot) bool {
		return (b.options.Namespace == "" || s.source.Object.Namespace == b.options.Namespace) &&
			(b.options.Labels == nil || b.options.Labels.Matches(labels.Set(s.source.Pod.Labels)))
	}
	groups := map[string]bool{}
	for _, s := range b.queue.slots {
		if s.source.PodGroup() != "" && chosen(s) {
			groups[s.source.PodGroup()] = true
		}
	}
	b.queue.slots = slices.DeleteFunc(b.queue.slots, func(s slot) bool {
		if chosen(s) || groups[s.source.PodGroup()] {
			return false
		}
		pods += uint64(s.pods.GetCount())
		return true
	})
	b.queue.waiting = slices.DeleteFunc(b.queue.waiting, func(e Entry) bool {
		return b.options.Namespace != "" && e.Origin.Namespace != b.options.Namespace
	})
	return pods
}

// sort sorts the queue as kube-scheduler does. Equal pods keep the order in which they were added.
func (q *queue) sort() {
	slices.SortStableFunc(q.slots, func(x, y slot) int {
		return ComparePending(x.pods.GetPod(), y.pods.GetPod(), x.created(), y.created())
	})
}

// ComparePending orders pending pods, with templates of their own, as kube-scheduler's queue does: by priority, then by the time
// since which they have waited, here the time of their creation (pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.37).
// Pods without a time come last.
func ComparePending(x, y *stowagev1.Pod, xCreated, yCreated time.Time) int {
	return cmp.Or(
		cmp.Compare(y.GetTemplate().GetSpec().GetPriority(), x.GetTemplate().GetSpec().GetPriority()),
		compareTimes(xCreated, yCreated),
	)
}

// Alike reports whether pending pods differ in their names at most, so that they can share an entry of a queue. A nominated pod
// is like no other: its name identifies it, as it identifies the claims of pods that have claims of their own.
func Alike(x, y *stowagev1.Pod) bool {
	return x == y || (x.Name == y.Name || !slices.ContainsFunc(x.GetTemplate().GetSpec().GetVolumes(), convert.NamedByPod)) &&
		len(x.Labels)+len(y.Labels)+len(x.Unread)+len(y.Unread)+len(x.ResourceClaimStatuses)+len(y.ResourceClaimStatuses) == 0 && x.NominatedNodeName+y.NominatedNodeName == "" &&
		x.Terminating == y.Terminating && x.GetTemplateIndex() == y.GetTemplateIndex() && proto.Equal(x.GetTemplate(), y.GetTemplate())
}

func (s *slot) created() time.Time { return s.source.Pod.CreationTimestamp.Time }

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

// unread completes the unread fields of the queued and the scalable pods, and lists all of them.
func (b *Builder) unread(scalables []Scalable) []*stowagev1.UnreadField {
	var out []*stowagev1.UnreadField
	seen := map[[2]string]bool{}
	list := func(p *stowagev1.Pod) {
		for _, u := range p.Unread {
			if key := [2]string{u.Object, u.Field}; !seen[key] {
				seen[key] = true
				out = append(out, u)
			}
		}
	}
	for _, s := range b.queue.slots {
		b.environment.Complete(s.pods.Pod, s.source)
		list(s.pods.Pod)
	}
	for i := range scalables {
		s := &scalables[i]
		b.environment.Complete(s.Pod, s.source)
		list(s.Pod)
	}
	return out
}
