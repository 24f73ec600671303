package kube

import (
	"iter"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/change"
	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
)

// changed records a workload with a change, and returns it as it was before.
func (b *Builder) changed(origin Origin, after metav1.Object) metav1.Object {
	before := b.objects.before
	if before == nil || before.GetUID() != after.GetUID() {
		return after
	}
	b.changes = append(b.changes, change.Change{Origin: origin, At: b.objects.at, Before: before, After: after})
	return before
}

// changing returns what changes read, once everything is added.
func (b *Builder) changing() *change.Cluster {
	return &change.Cluster{
		Nodes: b.nodes.objects, ReplicaSets: b.workloads.replicaSets, Pods: b.addedPods(), Labels: b.workloads.labels,
	}
}

// shrink removes the pods that leave their nodes, and decides which leave the queue, once everything is added.
func (b *Builder) shrink() {
	for i := range b.changes {
		c := &b.changes[i]
		if !c.Shrink(b.changing()) {
			continue
		}
		b.pods.running = slices.DeleteFunc(b.pods.running, func(r runningPod) bool {
			leaves := c.Leaves(r.source.Pod)
			if leaves {
				b.effects.Leavers = append(b.effects.Leavers, change.Leaver{Workload: c.Origin, Pod: r.source.Pod.Name, Node: r.node})
			}
			return leaves
		})
		b.pods.nominated = slices.DeleteFunc(b.pods.nominated, func(n nomination) bool { return c.Leaves(n.pod) })
	}
}

// grow queues the pods that changed workloads create, once everything is added.
func (b *Builder) grow() {
	for i := range b.changes {
		c := &b.changes[i]
		b.objects.at = c.At
		if c.Leaves != nil {
			b.queue.slots = slices.DeleteFunc(b.queue.slots, func(s slot) bool { return c.Leaves(s.source.Pod) })
			continue
		}
		pods, group, err := c.Grow(b.changing(), &b.effects)
		_ = b.misreadPods(c.Origin, 1, b.create(c.Origin, convert.TemplateSpecPath, pods, group, err))
		if b.room.err != nil {
			return
		}
	}
}

// addedPods iterates over the pods that were added. Pods on unknown nodes have no node.
func (b *Builder) addedPods() iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, r := range b.pods.running {
			p := r.source.Pod
			if _, known := b.nodes.index[r.node]; !known {
				free := *p
				free.Spec.NodeName = ""
				p = &free
			}
			if !yield(p) {
				return
			}
		}
		for _, s := range b.queue.slots {
			if s.daemonSet == nil && s.source.Object.Kind == "Pod" && !yield(s.source.Pod) {
				return
			}
		}
	}
}

// Progress is how far the rollout of a Deployment has gone whose pods are of several revisions.
type Progress struct {
	change.Rollout
	// OnNodes are the pods of older revisions, Fresh the pods of the new one, with nodes.
	OnNodes, Fresh []*corev1.Pod
}

// Progress returns the rolling update that creates a pending pod, as far as it has gone; nil if there is none: the pod is of no
// Deployment that was added, or no pod of an older revision is on a node.
func (s *Snapshot) Progress(e *Entry) *Progress {
	if e.Object() == nil || len(e.owners) < 3 || e.owners[1].Kind != "ReplicaSet" {
		return nil
	}
	set, of := e.owners[1], e.owners[2]
	d := s.added.deployments[of]
	if d == nil || d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || s.Rollout(of) != nil {
		return nil
	}
	out := &Progress{Rollout: change.Rollout{Origin: of, Replicas: int(controller.Replicas(d.Spec.Replicas)), Before: int(controller.Replicas(d.Spec.Replicas))}}
	for p := range s.OnNodes() {
		switch owners := s.Owners(p.Pod); {
		case p.Pod.DeletionTimestamp != nil || len(owners) < 3 || owners[2] != of:
		case owners[1] == set:
			out.Fresh = append(out.Fresh, p.Pod)
		default:
			out.OnNodes = append(out.OnNodes, p.Pod)
		}
	}
	var err error
	if out.MaxSurge, out.MaxUnavailable, err = controller.Fenceposts(d); err != nil || len(out.OnNodes) == 0 {
		return nil
	}
	out.New = e.Object().DeepCopy()
	out.New.Name, out.New.UID = set.Name, ""
	return out
}

// MaxUnavailable returns how many pods of a Deployment a rolling update may make unavailable. It is not known of a Deployment that was
// not added, and of one with the strategy Recreate.
func (s *Snapshot) MaxUnavailable(of Origin) (n int, known bool) {
	d := s.added.deployments[of]
	if d == nil || d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0, false
	}
	_, n, err := controller.Fenceposts(d)
	return n, err == nil
}
