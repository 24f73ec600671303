package rollout

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/simulate"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// run is a rollout under way.
type run struct {
	*kube.Rollout
	ctx     context.Context
	s       *simulate.Snapshot
	preempt bool
	now     time.Time
	old     []*corev1.Pod // of the revision that runs, in no order
	fresh   []*corev1.Pod // of the new revision, with nodes
	waiting []*corev1.Pod // of the new revision, without
	created int           // pods of the new revision
	names   int           // numbers the names of pods
	message string        // for the first of waiting
	out     *whatif.Rollout
}

// Decide returns how a rollout goes in a simulated cluster, which has its pods on nodes and keeps what the rollout does.
// pending are pods of the Deployment without a node. preemption says that kube-scheduler may evict pods.
func Decide(
	ctx context.Context, s *simulate.Snapshot, of *kube.Rollout, old, pending []*corev1.Pod, preemption bool,
) (*whatif.Rollout, error) {
	r := &run{Rollout: of, ctx: ctx, s: s, preempt: preemption, old: slices.Concat(old, pending), out: &whatif.Rollout{
		Object: whatif.Object(of.Origin), Strategy: "RollingUpdate", MaxSurge: of.MaxSurge,
		MaxUnavailable: of.MaxUnavailable, Replicas: of.Replicas, Steps: []whatif.Step{},
	}}
	r.now = kube.Newest(r.old)
	if err := r.scale(); err != nil {
		return nil, err
	}
	steps := r.rolling
	if of.Recreate {
		r.out.Strategy, steps = "Recreate", r.recreate
	}
	if err := steps(); err != nil {
		return nil, err
	}
	r.out.Placed, r.out.Old = len(r.fresh), len(r.old)
	r.out.Complete = r.out.Placed == r.Replicas && r.out.Old == 0
	if r.out.Complete {
		return r.out, nil
	}
	return r.out, r.stuck()
}

// scale scales the revision that runs to the number of replicas after the change, as the controller does before a rollout
// (pkg/controller/deployment/sync.go scale, v1.37).
func (r *run) scale() error {
	n := r.Replicas - r.Before
	if n == 0 {
		return nil
	}
	step := whatif.Step{OldRevision: true, Placed: []string{}, Left: []whatif.Left{}}
	if n < 0 {
		left, err := r.leave(min(-n, len(r.old)))
		step.Left = left
		r.out.Steps = append(r.out.Steps, step)
		return err
	}
	step.Created = n
	var pods []*corev1.Pod
	for range n {
		pods = append(pods, r.pod(r.Rollout.Old))
	}
	placed, without, err := r.schedule(pods)
	if err != nil {
		return err
	}
	step.Placed, step.Waiting = nodesOf(placed), len(without)
	r.old = append(append(r.old, placed...), without...)
	r.out.Steps = append(r.out.Steps, step)
	return nil
}

// rolling replaces the pods step by step (pkg/controller/deployment/rolling.go rolloutRolling, v1.37).
func (r *run) rolling() error {
	for {
		step := whatif.Step{Placed: []string{}, Left: []whatif.Left{}}
		if up := min(r.Replicas+r.MaxSurge-len(r.old)-r.created, r.Replicas-r.created); up > 0 {
			r.create(up)
			step.Created = up
		}
		if err := r.place(&step); err != nil {
			return err
		}
		least := r.Replicas - r.MaxUnavailable
		if most := len(r.old) + r.created - least - len(r.waiting); most > 0 {
			unhealthy := len(r.old) - r.healthy()
			left, err := r.leave(min(most, unhealthy))
			if err != nil {
				return err
			}
			more, err := r.leave(min(len(r.old), max(0, r.healthy()+len(r.fresh)-least)))
			if err != nil {
				return err
			}
			left = append(left, more...)
			step.Left = left
		}
		if step.Created+len(step.Placed)+len(step.Left) == 0 {
			return nil
		}
		r.out.Steps = append(r.out.Steps, step)
	}
}

// recreate lets all old pods leave, and then creates the new ones (pkg/controller/deployment/recreate.go, v1.37).
func (r *run) recreate() error {
	left, err := r.leave(len(r.old))
	if err != nil {
		return err
	}
	step := whatif.Step{Placed: []string{}, Left: left}
	r.out.Steps = append(r.out.Steps, step)
	r.create(r.Replicas)
	step = whatif.Step{Created: r.Replicas, Placed: []string{}, Left: []whatif.Left{}}
	err = r.place(&step)
	r.out.Steps = append(r.out.Steps, step)
	return err
}

// healthy counts the old pods that are available.
func (r *run) healthy() (n int) {
	for _, p := range r.old {
		if p.Spec.NodeName != "" && kube.Healthy(p) {
			n++
		}
	}
	return n
}

// pod returns a pod of a revision, with a name that no other pod has.
func (r *run) pod(of *corev1.Pod) *corev1.Pod {
	out := of.DeepCopy()
	for {
		r.names++
		out.Name = fmt.Sprintf("%s-%d", of.Name, r.names)
		if r.s.NodeOf(out.Namespace, out.Name) == "" {
			return out
		}
	}
}

// create creates pods of the new revision.
func (r *run) create(n int) {
	r.created += n
	for range n {
		r.waiting = append(r.waiting, r.pod(r.New))
	}
}

// place places the pods of the new revision that have no node.
func (r *run) place(step *whatif.Step) error {
	placed, without, err := r.schedule(r.waiting)
	r.fresh, r.waiting = append(r.fresh, placed...), without
	step.Placed, step.Waiting = nodesOf(placed), len(without)
	return err
}

// schedule places pods, and returns those with a node, which have it in their spec, and those without.
func (r *run) schedule(pods []*corev1.Pod) (placed, without []*corev1.Pod, err error) {
	results, err := r.s.Schedule(r.ctx, pods, simulate.ScheduleOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, one := range results {
		if r.out.Unread == nil {
			r.out.Unread = one.Unread // equal pods have equal ones
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

// leave takes old pods away in the order in which their ReplicaSet deletes them.
func (r *run) leave(n int) ([]whatif.Left, error) {
	out := []whatif.Left{}
	if n <= 0 {
		return out, nil
	}
	order := kube.DeletionOrder(r.old, slices.Concat(r.old, r.fresh, r.waiting), r.now)
	for _, p := range order[:n] {
		out = append(out, whatif.Left{Name: p.Name, Node: p.Spec.NodeName})
		if p.Spec.NodeName == "" {
			continue
		}
		if _, err := r.s.Evict(types.NamespacedName{Namespace: p.Namespace, Name: p.Name}); err != nil {
			return nil, err
		}
	}
	r.old = order[n:]
	return out, nil
}

// stuck says why the rollout does not go on.
func (r *run) stuck() error {
	r.out.Stuck = &whatif.Stuck{Message: r.message, Victims: []string{}}
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
