// Package rollouts decides the rollouts of a snapshot's workloads after its queue is placed.
package rollouts

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/change"
	"github.com/stowage-scheduler/stowage/clients/rollout"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Decide decides the rollouts of the snapshot, one after another, in the cluster that the placements of its queue lead to. Decided
// rollouts leave Snapshot.Undecided; a note reports why the others stay there.
func Decide(ctx context.Context, q *answer.Question, placed *stowagev1.PlaceResponse) ([]*whatif.Rollout, error) {
	if len(q.Snapshot.Rollouts) == 0 {
		return nil, nil
	}
	s, err := simulate.New(ctx, q.Client, q.Snapshot, simulate.Options{Profile: q.Profile()})
	if err != nil {
		return nil, err
	}
	a := after{snapshot: q.Snapshot, s: s}
	if err := a.evict(placed); err != nil {
		return nil, err
	}
	if err := a.place(placed); err != nil {
		return nil, err
	}
	var out []*whatif.Rollout
	for i := range q.Snapshot.Rollouts {
		r := &q.Snapshot.Rollouts[i]
		on, pending, why := a.podsOf(r)
		if why != "" {
			q.Notef("not decided: %s: its template changes: %s", r.At, why)
			continue
		}
		result, err := rollout.Decide(ctx, s, r, on, pending, !q.NoPreemption())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.At, err)
		}
		out = append(out, result)
		q.Snapshot.Undecided = slices.DeleteFunc(q.Snapshot.Undecided, func(u change.Undecided) bool { return u.Origin == r.Origin })
	}
	return out, nil
}

// Doubt adds the doubts about the pods that rollouts create to a judgement.
func Doubt(q *answer.Question, j *answer.Judgement, all []*whatif.Rollout) {
	for _, r := range all {
		for _, d := range r.Doubts {
			q.Doubt(j, r.Kind+" "+r.Namespace+"/"+r.Name, d)
		}
	}
}

// after is a simulated cluster after the queue of a snapshot is placed.
type after struct {
	snapshot *kube.Snapshot
	s        *simulate.Snapshot
	queue    []queuedPod
}

// queuedPod is a pod of the queue. Its spec has the pod's node, if it has one.
type queuedPod struct {
	entry *kube.Entry
	*corev1.Pod
}

// evict removes the victims of the queue from their nodes.
func (a *after) evict(placed *stowagev1.PlaceResponse) error {
	for _, e := range placed.GetEvictions() {
		for _, v := range e.GetVictims() {
			if _, queued := v.GetOrigin().(*stowagev1.PodReference_QueueIndex); queued {
				continue // the placements do not count it
			}
			if _, err := a.s.Evict(types.NamespacedName{Namespace: v.GetNamespace(), Name: v.GetName()}); err != nil {
				return err
			}
		}
	}
	return nil
}

// place adds the pods of the queue to their nodes.
func (a *after) place(placed *stowagev1.PlaceResponse) error {
	nodes := a.snapshot.Cluster.GetNodes()
	for _, b := range placed.GetClaimBindings() {
		var pod *stowagev1.Pod // nil for a pod that comes back: the cluster has its claims
		if int(b.GetQueueIndex()) < len(a.snapshot.Queue) {
			pod = a.snapshot.Queue[b.GetQueueIndex()].Pods.GetPod()
		}
		a.s.Bind(pod, b, nodes[b.GetNodeIndex()].GetName())
	}
	for i := range a.snapshot.Queue {
		e, p := &a.snapshot.Queue[i], placed.GetPlacements()[i]
		nodes := append(slices.Clone(p.GetNodes().GetNames()), make([]string, p.GetUnplacedCount()+p.GetEvictedCount())...)
		for n, node := range nodes {
			pod := e.Object().DeepCopy()
			if e.Origin.Kind != "Pod" {
				pod.Name = fmt.Sprintf("%s-placed-%d-%d", pod.Name, i, n)
			}
			pod.Spec.NodeName = node
			a.queue = append(a.queue, queuedPod{e, pod})
			if node == "" {
				continue
			}
			if err := a.s.AddPods(pod); err != nil {
				return err
			}
		}
	}
	return nil
}

// podsOf returns the pods of a rollout's workload with and without a node, or why the rollout cannot be decided.
func (a *after) podsOf(r *change.Rollout) (on, pending []*corev1.Pod, why string) {
	is := func(o kube.Origin) bool { return o == r.Origin }
	for p := range a.snapshot.OnNodes() {
		if p.Pod.DeletionTimestamp != nil || !slices.ContainsFunc(a.snapshot.Owners(p.Pod), is) {
			continue
		}
		if a.s.NodeOf(p.Object.Namespace, p.Object.Name) != "" {
			on = append(on, p.Pod)
			continue
		}
		replacement := p.Pod.DeepCopy() // of a pod that the queue preempted
		replacement.Spec.NodeName = ""
		pending = append(pending, replacement)
	}
	for _, q := range a.queue {
		if !q.entry.Of(is) {
			continue
		}
		if q.Spec.NodeName != "" {
			on = append(on, q.Pod)
		} else {
			pending = append(pending, q.Pod)
		}
	}
	for _, e := range slices.Concat(a.snapshot.Waiting, a.snapshot.Others) {
		if e.Of(is) {
			return nil, nil, "the rollout is not decided, as some of its pods are not in the queue; they stay as they are"
		}
	}
	if len(on)+len(pending) == 0 && r.Before > 0 {
		return nil, nil, "the rollout is not decided, as its pods are not in the manifests"
	}
	for _, p := range slices.Concat(on, pending) {
		if !a.current(r, p, on) {
			return nil, nil, "the rollout is not decided, as another one is under way; its pods stay as they are"
		}
	}
	return on, pending, ""
}

// current reports whether a pod has the current revision: the revision of the Deployment's ReplicaSet, or of the workload's other pods.
func (a *after) current(r *change.Rollout, p *corev1.Pod, others []*corev1.Pod) bool {
	if r.Kind == "Deployment" {
		owners := a.snapshot.Owners(p)
		return len(owners) < 2 || owners[1].Name == r.Old.Name
	}
	const hash = appsv1.ControllerRevisionHashLabelKey
	return len(others) == 0 || p.Labels[hash] == others[0].Labels[hash]
}
