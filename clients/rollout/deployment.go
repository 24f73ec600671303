package rollout

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// scale scales the current revision to the number of replicas after the change, as the controller does before a rollout
// (pkg/controller/deployment/sync.go scale, v1.37).
func (r *run) scale() error {
	n := r.Replicas - r.Before
	if n == 0 {
		return nil
	}
	step := next()
	step.OldRevision = true
	if n < 0 {
		err := r.leave(&step, min(-n, len(r.old)))
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
	if err := r.scale(); err != nil {
		return err
	}
	for {
		step := next()
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
			if err := r.leave(&step, min(most, unhealthy)); err != nil {
				return err
			}
			if err := r.leave(&step, min(len(r.old), r.healthy()+len(r.fresh)-least)); err != nil {
				return err
			}
		}
		if r.done(step) {
			return nil
		}
	}
}

// recreate deletes all old pods, and then creates the new pods (pkg/controller/deployment/recreate.go, v1.37).
func (r *run) recreate() error {
	if err := r.scale(); err != nil {
		return err
	}
	step := next()
	if err := r.leave(&step, len(r.old)); err != nil {
		return err
	}
	r.out.Steps = append(r.out.Steps, step)
	step = next()
	r.create(r.Replicas)
	step.Created = r.Replicas
	err := r.place(&step)
	r.out.Steps = append(r.out.Steps, step)
	return err
}

// healthy counts the old pods that are available.
func (r *run) healthy() (n int) {
	for _, p := range r.old {
		if available(p) {
			n++
		}
	}
	return n
}

// leave removes old pods in the order in which their ReplicaSet deletes them.
func (r *run) leave(step *whatif.Step, n int) error {
	if n <= 0 {
		return nil
	}
	order := controller.DeletionOrder(r.old, slices.Concat(r.old, r.fresh, r.waiting), r.now)
	r.old = order[n:]
	return r.remove(step, order[:n]...)
}

// pod returns a pod of a revision, with a unique name.
func (r *run) pod(of *corev1.Pod) *corev1.Pod {
	out := of.DeepCopy()
	for {
		r.names++
		out.Name = fmt.Sprintf("%s-%d", of.Name, r.names)
		is := func(p *corev1.Pod) bool { return p.Name == out.Name }
		if r.s.NodeOf(out.Namespace, out.Name) == "" && !slices.ContainsFunc(r.waiting, is) && !slices.ContainsFunc(r.old, is) {
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

// place places the pending pods of the new revision.
func (r *run) place(step *whatif.Step) error {
	placed, without, err := r.schedule(r.waiting)
	r.fresh, r.waiting = append(r.fresh, placed...), without
	step.Placed, step.Waiting = nodesOf(placed), len(without)
	return err
}
