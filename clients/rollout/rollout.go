package rollout

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/change"
	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// run is a rollout in progress.
type run struct {
	*change.Rollout
	ctx      context.Context
	s        *simulate.Snapshot
	preempt  bool
	now      time.Time
	old      []*corev1.Pod // of the current revision, in no order
	fresh    []*corev1.Pod // of the new revision, with nodes
	waiting  []*corev1.Pod // of the new revision, without nodes
	created  int           // pods of the new revision
	names    int           // numbers the names of pods
	message  string        // for the first of waiting
	waitsFor string        // an unready pod
	out      *whatif.Rollout
}

// Decide returns the course of a rollout in a simulated cluster, which has the workload's pods on nodes and keeps the rollout's changes.
// without are pending pods of the workload. With preemption, kube-scheduler may evict pods.
func Decide(
	ctx context.Context, s *simulate.Snapshot, of *change.Rollout, old, without []*corev1.Pod, preemption bool,
) (*whatif.Rollout, error) {
	r := newRun(ctx, s, of, slices.Concat(old, without), preemption)
	before := s
	if of.Kind == "Deployment" && !of.Recreate && !inPlace(of) {
		before = s.Fork()
	}
	var steps func() error
	switch {
	case of.Kind == "StatefulSet":
		steps = r.ordinals
	case of.Kind == "DaemonSet":
		steps = r.daemons
	case of.Recreate:
		r.out.Strategy, steps = "Recreate", r.recreate
	default:
		steps = r.rolling
	}
	return r.end(steps, before, func(s *simulate.Snapshot, of *change.Rollout) (*whatif.Rollout, error) {
		return Decide(ctx, s, of, old, without, preemption)
	})
}

// Continue returns the further course of a Deployment's rolling update. The simulated cluster has the pods on nodes; waiting are the
// pending pods of the new revision.
func Continue(
	ctx context.Context, s *simulate.Snapshot, of *kube.Progress, waiting []*corev1.Pod, preemption bool,
) (*whatif.Rollout, error) {
	r := newRun(ctx, s, &of.Rollout, of.OnNodes, preemption)
	r.fresh, r.waiting = slices.Clone(of.Fresh), slices.Clone(waiting)
	r.created = len(r.fresh) + len(r.waiting)
	before := s
	if !inPlace(&of.Rollout) {
		before = s.Fork()
	}
	return r.end(r.rolling, before, func(s *simulate.Snapshot, other *change.Rollout) (*whatif.Rollout, error) {
		again := *of
		again.Rollout = *other
		return Continue(ctx, s, &again, waiting, preemption)
	})
}

// end runs the steps of a rollout, and checks the result. If the rollout waits for itself, or leaves rules broken, again decides it in
// the cluster before the rollout with other numbers or rules, unless before is the cluster itself.
func (r *run) end(
	steps func() error, before *simulate.Snapshot, again decision,
) (*whatif.Rollout, error) {
	if err := steps(); err != nil {
		return nil, err
	}
	r.out.Placed, r.out.Old = len(r.fresh), len(r.old)
	r.out.Complete = r.out.Placed == r.Replicas-r.Partition && r.out.Old == r.Partition && !slices.ContainsFunc(r.old, pending)
	if r.out.Complete {
		if err := r.judge(); err != nil || len(r.out.Broken) == 0 || before == r.s {
			return r.out, err
		}
		return r.out, r.ownRevision(before, again)
	}
	if err := r.stuck(); err != nil || before == r.s || !r.out.Stuck.OwnPods {
		return r.out, err
	}
	other := *r.Rollout
	other.MaxSurge, other.MaxUnavailable = 0, 1
	goes, err := again(before, &other)
	if err != nil {
		return nil, err
	}
	r.out.Stuck.InPlace = goes.Complete
	return r.out, nil
}

// inPlace reports whether pods are replaced one at a time, the old pod first.
func inPlace(of *change.Rollout) bool { return of.MaxSurge == 0 && of.MaxUnavailable == 1 }

func newRun(ctx context.Context, s *simulate.Snapshot, of *change.Rollout, old []*corev1.Pod, preemption bool) *run {
	return &run{Rollout: of, ctx: ctx, s: s, preempt: preemption, old: old, now: controller.Newest(old), out: &whatif.Rollout{
		Object: whatif.Object(of.Origin), Strategy: "RollingUpdate", MaxSurge: of.MaxSurge,
		MaxUnavailable: of.MaxUnavailable, Partition: of.Partition, Replicas: of.Replicas, Steps: []whatif.Step{},
	}}
}

// schedule places pods, and returns the placed pods, with the node in their spec, and the pending pods.
func (r *run) schedule(pods []*corev1.Pod) (placed, without []*corev1.Pod, err error) {
	results, err := r.s.Schedule(r.ctx, pods, simulate.ScheduleOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, one := range results {
		if r.out.Doubts == nil {
			r.out.Doubts = one.Doubts // equal pods have equal doubts
		}
		if one.Node == "" {
			if len(without) == 0 {
				r.message = one.Why.Message
			}
			without = append(without, one.Pod)
			continue
		}
		p := one.Pod.DeepCopy()
		p.Spec.NodeName, p.Status.Phase, p.CreationTimestamp = one.Node, corev1.PodRunning, metav1.Time{Time: r.now}
		placed = append(placed, p)
	}
	return placed, without, nil
}

func nodesOf(pods []*corev1.Pod) []string {
	out := []string{}
	for _, p := range pods {
		out = append(out, p.Spec.NodeName)
	}
	return out
}

// remove removes pods.
func (r *run) remove(step *whatif.Step, pods ...*corev1.Pod) error {
	for _, p := range pods {
		step.Left = append(step.Left, whatif.Left{Name: p.Name, Node: p.Spec.NodeName})
		if pending(p) {
			continue
		}
		if _, err := r.s.Evict(types.NamespacedName{Namespace: p.Namespace, Name: p.Name}); err != nil {
			return err
		}
	}
	return nil
}

func pending(p *corev1.Pod) bool { return p.Spec.NodeName == "" }

// available reports whether a pod has a node and is ready there.
func available(p *corev1.Pod) bool { return !pending(p) && kube.Healthy(p) }

// next returns an empty step.
func next() whatif.Step { return whatif.Step{Placed: []string{}, Left: []whatif.Left{}} }

// done adds a step. A step without changes ends the rollout instead.
func (r *run) done(step whatif.Step) bool {
	if step.Created+len(step.Placed)+len(step.Left) == 0 {
		return true
	}
	r.out.Steps = append(r.out.Steps, step)
	return false
}

// stuck records why the rollout does not continue.
func (r *run) stuck() error {
	r.out.Stuck = &whatif.Stuck{Message: r.message, WaitsFor: r.waitsFor, Victims: []string{}}
	if len(r.waiting) == 0 {
		return nil
	}
	without := r.s.Fork()
	for _, p := range r.old {
		if p.Spec.NodeName == "" {
			continue
		}
		if _, err := without.Evict(types.NamespacedName{Namespace: p.Namespace, Name: p.Name}); err != nil {
			return err
		}
	}
	results, err := without.Schedule(r.ctx, r.waiting[:1], simulate.ScheduleOptions{DryRun: true})
	if err != nil {
		return err
	}
	r.out.Stuck.OwnPods = len(r.old) > 0 && results[0].Node != ""
	if !r.preempt {
		return nil
	}
	found, err := r.s.Preemption(r.ctx, r.waiting[0], nil)
	if err != nil {
		return err
	}
	for _, v := range found.Victims {
		r.out.Stuck.Victims = append(r.out.Stuck.Victims, v.Namespace+"/"+v.Name)
	}
	return nil
}
