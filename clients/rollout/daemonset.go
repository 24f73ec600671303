package rollout

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// daemons replaces the pods of a DaemonSet node by node (pkg/controller/daemon/update.go rollingUpdate, v1.37). If the controller may
// choose among nodes, daemons uses the first. Pending pods, and pods on nodes that should have none, are deleted first.
func (r *run) daemons() error {
	old, fresh := map[string]*corev1.Pod{}, map[string]*corev1.Pod{}
	var leave []*corev1.Pod
	for _, p := range r.old {
		if n := p.Spec.NodeName; n != "" && old[n] == nil && slices.Contains(r.Nodes, n) {
			old[n] = p
		} else {
			leave = append(leave, p)
		}
	}
	for {
		step := next()
		r.createDaemons(old, fresh, &step)
		if err := r.placeDaemons(fresh, &step); err != nil {
			return err
		}
		if err := r.remove(&step, append(leave, r.replaced(old, fresh)...)...); err != nil {
			return err
		}
		leave = nil
		if r.done(step) {
			break
		}
	}
	r.old = nil
	for _, n := range r.Nodes {
		if p := old[n]; p != nil {
			r.old = append(r.old, p)
		}
		switch p := fresh[n]; {
		case p == nil:
		case pending(p):
			r.waiting = append(r.waiting, p)
		default:
			r.fresh = append(r.fresh, p)
		}
	}
	return nil
}

// createDaemons creates pods for nodes without a pod, and for nodes with an old pod as far as maxSurge allows.
func (r *run) createDaemons(old, fresh map[string]*corev1.Pod, step *whatif.Step) {
	surge := 0
	for n, p := range fresh {
		if old[n] != nil && pending(p) {
			surge++
		}
	}
	for i, n := range r.Nodes {
		was := old[n]
		if fresh[n] != nil || was != nil && r.MaxSurge == 0 {
			continue
		}
		if was != nil && available(was) {
			if surge >= r.MaxSurge {
				continue
			}
			surge++
		}
		fresh[n] = r.Pods[i].DeepCopy()
		if was != nil && was.Name == fresh[n].Name {
			fresh[n].Name += "-new"
		}
		step.Created++
	}
}

// placeDaemons places the pending new pods.
func (r *run) placeDaemons(fresh map[string]*corev1.Pod, step *whatif.Step) error {
	var pods []*corev1.Pod
	for _, n := range r.Nodes {
		if p := fresh[n]; p != nil && pending(p) {
			pods = append(pods, p)
		}
	}
	if len(pods) == 0 {
		return nil
	}
	placed, without, err := r.schedule(pods)
	for _, p := range placed {
		fresh[p.Spec.NodeName] = p
	}
	step.Placed, step.Waiting = nodesOf(placed), len(without)
	return err
}

// replaced removes the pods to delete from old. With maxSurge it deletes unavailable pods and pods whose node has a new pod. Otherwise it
// deletes unavailable pods, and further pods until maxUnavailable nodes have no available pod.
func (r *run) replaced(old, fresh map[string]*corev1.Pod) (leave []*corev1.Pod) {
	unavailable := 0
	for _, n := range r.Nodes {
		if p := fresh[n]; old[n] == nil && (p == nil || pending(p)) || old[n] != nil && !available(old[n]) {
			unavailable++
		}
	}
	for _, n := range r.Nodes {
		was, is := old[n], fresh[n]
		switch {
		case was == nil:
			continue
		case r.MaxSurge > 0:
			if is == nil || available(was) && pending(is) {
				continue
			}
		case available(was):
			if unavailable >= r.MaxUnavailable {
				continue
			}
			unavailable++
		}
		delete(old, n)
		leave = append(leave, was)
	}
	return leave
}
