package cli

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/quote"
	"github.com/stowage-scheduler/stowage/clients/rollout"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/whatif"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// decideRollouts decides the rollouts of a snapshot whose queue was placed, one after another. Those that cannot be decided are
// told, and stay undecided.
func (q *question) decideRollouts(ctx context.Context, a *asked, answer *stowagev1.PlaceResponse) ([]*whatif.Rollout, error) {
	if !q.rollouts || len(a.snapshot.Rollouts) == 0 {
		return nil, nil
	}
	client, stop, err := q.simulator(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	s, err := simulate.New(ctx, client, a.snapshot, simulate.Options{Profile: a.scheduler.Profile})
	if err != nil {
		return nil, err
	}
	pods, err := placedQueue(s, a.snapshot, answer)
	if err != nil {
		return nil, err
	}
	var out []*whatif.Rollout
	for i := range a.snapshot.Rollouts {
		r := &a.snapshot.Rollouts[i]
		on, pending, why := podsOf(s, a.snapshot, r, pods)
		if why != "" {
			quote.Fprintf(a.stderr, "stowage: not decided: %s: its template changes: %s\n", r.At, why)
			continue
		}
		result, err := rollout.Decide(ctx, s, r, on, pending, !a.scheduler.NoPreemption())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.At, err)
		}
		out = append(out, result)
		a.snapshot.Undecided = slices.DeleteFunc(a.snapshot.Undecided, func(u kube.Undecided) bool { return u.Origin == r.Origin })
	}
	return out, nil
}

// queuedPod is a pod of the queue, with its node in its spec if it found one.
type queuedPod struct {
	entry *kube.Entry
	*corev1.Pod
}

// placedQueue takes the victims of the queue off their nodes, and puts the pods of the queue on theirs. It returns these, and
// those without a node.
func placedQueue(s *simulate.Snapshot, snapshot *kube.Snapshot, answer *stowagev1.PlaceResponse) ([]queuedPod, error) {
	for _, e := range answer.GetEvictions() {
		for _, v := range e.GetVictims() {
			if _, queued := v.GetOrigin().(*stowagev1.PodReference_QueueIndex); queued {
				continue
			}
			if _, err := s.Evict(types.NamespacedName{Namespace: v.GetNamespace(), Name: v.GetName()}); err != nil {
				return nil, err
			}
		}
	}
	var out []queuedPod
	for i := range snapshot.Queue {
		e, p := &snapshot.Queue[i], answer.GetPlacements()[i]
		nodes := append(slices.Clone(p.GetNodes().GetNames()), make([]string, p.GetUnplacedCount()+p.GetEvictedCount())...)
		for n, node := range nodes {
			pod := e.Object().DeepCopy()
			if e.Origin.Kind != "Pod" {
				pod.Name = fmt.Sprintf("%s-placed-%d-%d", pod.Name, i, n)
			}
			pod.Spec.NodeName = node
			out = append(out, queuedPod{e, pod})
			if node == "" {
				continue
			}
			if err := s.AddPods(pod); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// podsOf returns the pods of a workload on nodes and those without one, and why its rollout cannot be decided, if so.
func podsOf(
	s *simulate.Snapshot, snapshot *kube.Snapshot, r *kube.Rollout, queue []queuedPod,
) (on, pending []*corev1.Pod, why string) {
	is := func(o kube.Origin) bool { return o == r.Origin }
	for p := range snapshot.OnNodes() {
		if p.Pod.DeletionTimestamp != nil || !slices.ContainsFunc(snapshot.Owners(p.Pod), is) {
			continue
		}
		if s.NodeOf(p.Object.Namespace, p.Object.Name) != "" {
			on = append(on, p.Pod)
			continue
		}
		again := p.Pod.DeepCopy() // in place of one that the queue preempted
		again.Spec.NodeName = ""
		pending = append(pending, again)
	}
	for _, q := range queue {
		if !q.entry.Of(is) {
			continue
		}
		if q.Spec.NodeName != "" {
			on = append(on, q.Pod)
		} else {
			pending = append(pending, q.Pod)
		}
	}
	for _, e := range slices.Concat(snapshot.Waiting, snapshot.Others) {
		if e.Of(is) {
			return nil, nil, "the rollout is not decided, as some of its pods are not in the queue; they stay as they are"
		}
	}
	if len(on)+len(pending) == 0 && r.Before > 0 {
		return nil, nil, "the rollout is not decided, as its pods are not in the manifests"
	}
	for _, p := range slices.Concat(on, pending) {
		if !runs(snapshot, r, p, on) {
			return nil, nil, "the rollout is not decided, as another one is under way; its pods stay as they are"
		}
	}
	return on, pending, ""
}

// runs reports whether a pod is of the revision that runs: that of the Deployment's ReplicaSet, or of the other pods.
func runs(snapshot *kube.Snapshot, r *kube.Rollout, p *corev1.Pod, others []*corev1.Pod) bool {
	if r.Kind == "Deployment" {
		of := snapshot.Owners(p)
		return len(of) < 2 || of[1].Name == r.Old.Name
	}
	const hash = appsv1.ControllerRevisionHashLabelKey
	return len(others) == 0 || p.Labels[hash] == others[0].Labels[hash]
}

// doubtRollouts adds the doubts about the pods that rollouts create.
func (q *question) doubtRollouts(snapshot *kube.Snapshot, rollouts []*whatif.Rollout) {
	for _, r := range rollouts {
		for _, d := range r.Doubts {
			q.doubt(snapshot, r.Object.Kind+" "+r.Object.Namespace+"/"+r.Object.Name, d)
		}
	}
}
