package rollout

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// replica is one ordinal of a StatefulSet. Its pod is nil until it is created.
type replica struct {
	pod   *corev1.Pod
	fresh bool // of the new revision
}

func (p *replica) available() bool { return p.pod != nil && available(p.pod) }

// ordinals replaces the pods of a StatefulSet, the highest ordinals first
// (pkg/controller/statefulset/stateful_set_control.go updateStatefulSet, v1.37).
func (r *run) ordinals() error {
	replicas, condemned := r.replicas()
	for {
		step := next()
		continues, err := r.fill(replicas, &step)
		switch {
		case err != nil:
			return err
		case !continues:
		case len(condemned) > 0:
			err = r.remove(&step, condemned...)
			condemned = nil
		default:
			err = r.update(replicas, &step)
		}
		if err != nil {
			return err
		}
		if r.done(step) {
			break
		}
	}
	r.old = condemned
	for i := range replicas {
		p := &replicas[i]
		switch {
		case p.pod == nil:
		case !p.fresh:
			r.old = append(r.old, p.pod)
		case pending(p.pod):
			r.waiting = append(r.waiting, p.pod)
		default:
			r.fresh = append(r.fresh, p.pod)
		}
	}
	return nil
}

// replicas returns the pods by ordinal, and the surplus pods, the highest ordinals first.
func (r *run) replicas() (out []replica, condemned []*corev1.Pod) {
	index := map[string]int{}
	for i, p := range r.Pods {
		index[p.Name] = i
	}
	out = make([]replica, r.Replicas)
	for _, p := range r.old {
		if i, ok := index[p.Name]; ok {
			out[i].pod = p
		} else {
			condemned = append(condemned, p)
		}
	}
	slices.SortStableFunc(condemned, func(a, b *corev1.Pod) int { return cmp.Compare(controller.Ordinal(b), controller.Ordinal(a)) })
	return out, condemned
}

// fill creates missing pods, and places pods without a node. It reports whether the controller continues: unless pods are managed in
// parallel, it waits for each pod before it creates the next.
func (r *run) fill(replicas []replica, step *whatif.Step) (continues bool, err error) {
	var created, waiting []int
	for i := range replicas {
		if replicas[i].pod == nil && r.Parallel {
			r.createAt(replicas, i)
			created = append(created, i)
		}
		if replicas[i].pod != nil && pending(replicas[i].pod) {
			waiting = append(waiting, i)
		}
	}
	if err := r.placeAt(replicas, waiting, step); err != nil {
		return false, err
	}
	step.Created, continues, r.waitsFor = len(created), true, ""
	for i := 0; i < len(replicas) && !r.Parallel; i++ {
		if replicas[i].pod == nil {
			r.createAt(replicas, i)
			step.Created++
			if err := r.placeAt(replicas, []int{i}, step); err != nil {
				return false, err
			}
		}
		if !replicas[i].available() {
			if continues = false; !pending(replicas[i].pod) {
				r.waitsFor = replicas[i].pod.Name
			}
			break
		}
	}
	for i := range replicas {
		if replicas[i].pod != nil && pending(replicas[i].pod) {
			step.Waiting++
		}
	}
	return continues, nil
}

// createAt creates the pod of an ordinal. Ordinals below the partition keep the current revision.
func (r *run) createAt(replicas []replica, i int) {
	of := r.Pods[i]
	if i < r.Partition {
		of = r.OldPods[i]
	}
	replicas[i] = replica{of.DeepCopy(), i >= r.Partition}
}

// placeAt places the pods of ordinals.
func (r *run) placeAt(replicas []replica, at []int, step *whatif.Step) error {
	if len(at) == 0 {
		return nil
	}
	var pods []*corev1.Pod
	index := map[string]int{}
	for _, i := range at {
		pods = append(pods, replicas[i].pod)
		index[replicas[i].pod.Name] = i
	}
	placed, _, err := r.schedule(pods)
	for _, p := range placed {
		replicas[index[p.Name]].pod = p
	}
	step.Placed = append(step.Placed, nodesOf(placed)...)
	return err
}

// update deletes old pods, at most as many as may be unavailable (updateStatefulSetAfterInvariantEstablished, v1.37). With parallel
// management, it first deletes all unavailable old pods.
func (r *run) update(replicas []replica, step *whatif.Step) error {
	budget := r.MaxUnavailable
	for i := range replicas {
		if !replicas[i].available() {
			budget--
		}
	}
	leave := func(which func(*replica) bool, most int) error {
		for i := len(replicas) - 1; i >= r.Partition && most > 0; i-- {
			p := &replicas[i]
			if p.pod == nil || p.fresh || !which(p) {
				continue
			}
			if err := r.remove(step, p.pod); err != nil {
				return err
			}
			p.pod = nil
			most--
		}
		return nil
	}
	if !r.Parallel {
		return leave(func(*replica) bool { return true }, budget)
	}
	if err := leave(func(p *replica) bool { return !p.available() }, len(replicas)); err != nil {
		return err
	}
	return leave((*replica).available, budget)
}
