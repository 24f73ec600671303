package change

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
)

// Rollout is a Deployment, StatefulSet or DaemonSet of a cluster whose template changes, so that its controller replaces its pods.
// The pods that the cluster has are the old ones. It is among Effects.Undecided, too.
type Rollout struct {
	object.Origin
	// At names the object with the change.
	At string
	// Recreate says that all old pods leave before the first new one is created.
	Recreate bool
	// Replicas is the number of pods after the change, Before the number before it. A Deployment scales the ReplicaSet that runs first.
	Replicas, Before int
	// MaxSurge and MaxUnavailable are resolved to numbers of pods.
	MaxSurge, MaxUnavailable int
	// New is a pod of the new revision, Old a pod of the revision that runs. Pods of a Deployment have the name of their ReplicaSet.
	New, Old *corev1.Pod

	// Pods are the new pods of a StatefulSet by ordinal, or of a DaemonSet one for each of Nodes.
	Pods []*corev1.Pod
	// Nodes are the nodes on which a DaemonSet is to have a pod.
	Nodes []string
	// OldPods are the pods of a StatefulSet, by ordinal, as the revision that runs has them. The first Partition of them stay.
	OldPods   []*corev1.Pod
	Partition int
	// Parallel says that a StatefulSet does not wait for one pod before it creates the next.
	Parallel bool
}

// deployment records the rollout of an edited template. message says that the cluster does not contain it, or why nobody can decide
// it.
func (d *decision) deployment(before, after *appsv1.Deployment) (message string) {
	o, template, ok := d.in.revision(before)
	if !ok {
		return "its template changes while its pods are of several revisions: the rollout is not decided; they stay as they are"
	}
	r := Rollout{
		Origin: d.Origin, At: d.At, Replicas: int(controller.Replicas(after.Spec.Replicas)), Before: int(controller.Replicas(before.Spec.Replicas)),
		Recreate: after.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType, Old: o.Pod(template, o.Name, nil),
	}
	var err error
	if r.MaxSurge, r.MaxUnavailable, err = controller.Fenceposts(after); err != nil {
		return undecidedRollout(err)
	}
	fresh, template, err := d.in.newRevision(after)
	if err != nil {
		return undecidedRollout(err)
	}
	r.New = fresh.Pod(template, fresh.Name, nil)
	d.effects.Rollouts = append(d.effects.Rollouts, r)
	return rollout
}

// statefulSet records the rollout of an edited template. The API server sets maxUnavailable to 1 where it is absent.
func (d *decision) statefulSet(before, after *appsv1.StatefulSet) (message string) {
	if after.Spec.UpdateStrategy.Type == "Recreate" {
		return rollout
	}
	r := Rollout{
		Origin: d.Origin, At: d.At, Replicas: int(controller.Replicas(after.Spec.Replicas)), Before: int(controller.Replicas(before.Spec.Replicas)),
		MaxUnavailable: 1, Parallel: after.Spec.PodManagementPolicy == appsv1.ParallelPodManagement,
	}
	if u := after.Spec.UpdateStrategy.RollingUpdate; u != nil {
		if u.Partition != nil {
			r.Partition = min(int(*u.Partition), r.Replicas)
		}
		if u.MaxUnavailable != nil {
			n, err := intstr.GetScaledValueFromIntOrPercent(u.MaxUnavailable, r.Replicas, false)
			if err != nil {
				return undecidedRollout(fmt.Errorf("spec.updateStrategy.rollingUpdate.maxUnavailable: %w", err))
			}
			r.MaxUnavailable = max(1, n)
		}
	}
	was := after.DeepCopy()
	was.Spec.Template = before.Spec.Template
	for _, of := range []struct {
		set      *appsv1.StatefulSet
		revision string
		into     *[]*corev1.Pod
	}{{after, "", &r.Pods}, {was, before.Status.UpdateRevision, &r.OldPods}} {
		stamps, err := controller.StatefulPods(of.set, of.revision, 0)
		if err != nil {
			return undecidedRollout(err)
		}
		for _, s := range stamps {
			*of.into = append(*of.into, s.Pod)
		}
	}
	if r.Replicas > 0 {
		r.New, r.Old = r.Pods[r.Replicas-1], r.OldPods[r.Replicas-1]
	}
	d.effects.Rollouts = append(d.effects.Rollouts, r)
	return rollout
}

// daemonSet records the rollout of an edited template (pkg/controller/daemon/update.go updatedDesiredNodeCounts, v1.37).
func (d *decision) daemonSet(before, after *appsv1.DaemonSet) (message string) {
	old, err := controller.DaemonPods(before, d.in.Nodes)
	if err != nil {
		return undecidedRollout(err)
	}
	r := Rollout{Origin: d.Origin, At: d.At, Before: len(old)}
	for _, n := range d.in.Nodes {
		p, err := controller.DaemonPod(after, n)
		if err != nil {
			return undecidedRollout(err)
		}
		if p != nil {
			p.Spec.NodeName = ""
			r.Pods, r.Nodes = append(r.Pods, p), append(r.Nodes, n.Name)
		}
	}
	r.Replicas = len(r.Nodes)
	if r.Replicas > 0 {
		r.New = r.Pods[0]
	}
	one := intstr.FromInt32(1)
	unavailable, surge := &one, (*intstr.IntOrString)(nil)
	if u := after.Spec.UpdateStrategy.RollingUpdate; u != nil {
		unavailable, surge = cmp.Or(u.MaxUnavailable, unavailable), u.MaxSurge
	}
	for _, of := range []struct {
		name string
		from *intstr.IntOrString
		into *int
	}{{"maxUnavailable", unavailable, &r.MaxUnavailable}, {"maxSurge", surge, &r.MaxSurge}} {
		if of.from == nil {
			continue
		}
		if *of.into, err = intstr.GetScaledValueFromIntOrPercent(of.from, r.Replicas, true); err != nil {
			return undecidedRollout(fmt.Errorf("spec.updateStrategy.rollingUpdate.%s: %w", of.name, err))
		}
	}
	if r.MaxUnavailable == 0 && r.MaxSurge == 0 {
		r.MaxUnavailable = 1
	}
	d.effects.Rollouts = append(d.effects.Rollouts, r)
	return rollout
}

func undecidedRollout(why error) string {
	return fmt.Sprintf("its template changes: the rollout is not decided, as %v; its pods stay as they are", why)
}
