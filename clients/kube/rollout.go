package kube

import (
	"cmp"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout is a Deployment, StatefulSet or DaemonSet of a cluster whose template changes, so that its controller replaces its pods.
// Of its pods the snapshot has those that the cluster has. It is among Snapshot.Undecided, too.
type Rollout struct {
	Origin
	// At is the object with the change, as From named it.
	At string
	// Recreate says that all old pods leave before the first new one is created.
	Recreate bool
	// Replicas is the number of pods after the change, and Before that before it. A Deployment scales the ReplicaSet that runs first.
	Replicas, Before int
	// MaxSurge and MaxUnavailable are resolved to numbers of pods.
	MaxSurge, MaxUnavailable int
	// New is a pod of the new revision, Old one of the revision that runs. Those of a Deployment have the name of their ReplicaSet.
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

func (r *Rollout) is(o Origin) bool { return o == r.Origin }

// rollout records the rollout of an edited template. message is why it stays undecided by whomever.
func (b *Builder) rollout(c change, before, after *appsv1.Deployment) (message string) {
	o, template, ok := b.revision(before)
	if !ok {
		return "its template changes while its pods are of several revisions: the rollout is not decided; they stay as they are"
	}
	r := Rollout{
		Origin: c.origin, At: c.at, Replicas: int(replicasOf(after.Spec.Replicas)), Before: int(replicasOf(before.Spec.Replicas)),
		Recreate: after.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType, Old: o.pod(template, o.name, nil),
	}
	var err error
	if r.MaxSurge, r.MaxUnavailable, err = fenceposts(after); err != nil {
		return undecidedRollout(err)
	}
	fresh, template, err := b.newRevision(after)
	if err != nil {
		return undecidedRollout(err)
	}
	r.New = fresh.pod(template, fresh.name, nil)
	b.rollouts = append(b.rollouts, r)
	return rollout
}

// rolloutOfStatefulSet records the rollout of an edited template. The API server sets maxUnavailable to 1 where it is absent.
func (b *Builder) rolloutOfStatefulSet(c change, before, after *appsv1.StatefulSet) (message string) {
	if after.Spec.UpdateStrategy.Type == "Recreate" {
		return rollout
	}
	r := Rollout{
		Origin: c.origin, At: c.at, Replicas: int(replicasOf(after.Spec.Replicas)), Before: int(replicasOf(before.Spec.Replicas)),
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
		stamps, err := statefulPods(of.set, of.revision, 0)
		if err != nil {
			return undecidedRollout(err)
		}
		for _, s := range stamps {
			*of.into = append(*of.into, s.pod)
		}
	}
	if r.Replicas > 0 {
		r.New, r.Old = r.Pods[r.Replicas-1], r.OldPods[r.Replicas-1]
	}
	b.rollouts = append(b.rollouts, r)
	return rollout
}

// rolloutOfDaemonSet records the rollout of an edited template (pkg/controller/daemon/update.go updatedDesiredNodeCounts, v1.37).
func (b *Builder) rolloutOfDaemonSet(c change, before, after *appsv1.DaemonSet) (message string) {
	old, err := daemonPods(before, b.nodes)
	if err != nil {
		return undecidedRollout(err)
	}
	r := Rollout{Origin: c.origin, At: c.at, Before: len(old)}
	for _, n := range b.nodes {
		p, err := DaemonPod(after, n)
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
	b.rollouts = append(b.rollouts, r)
	return rollout
}

func undecidedRollout(why error) string {
	return fmt.Sprintf("its template changes: the rollout is not decided, as %v; its pods stay as they are", why)
}

// newRevision returns the ReplicaSet of an edited Deployment: one that was added and has its template, or the new one.
func (b *Builder) newRevision(d *appsv1.Deployment) (o owner, template *corev1.PodTemplateSpec, err error) {
	o = owner{"apps/v1", "ReplicaSet", "", namespaceOf(d)}
	if found, _ := b.replicaSetOf(d); found != nil {
		o.name = found.Name
		return o, &found.Spec.Template, nil
	}
	hash, err := templateHash(&d.Spec.Template)
	if err != nil {
		return o, nil, err
	}
	o.name = d.Name + "-" + hash
	template = d.Spec.Template.DeepCopy()
	template.Labels = withLabels(template.Labels, map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash})
	return o, template, nil
}

// replicaSetOf returns the ReplicaSet of a Deployment that has its template, nil if none has, and whether it has any
// (pkg/controller/deployment/util/deployment_util.go FindNewReplicaSet, v1.37).
func (b *Builder) replicaSetOf(d *appsv1.Deployment) (found *appsv1.ReplicaSet, added bool) {
	plain := func(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
		out := t.DeepCopy()
		delete(out.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		return out
	}
	for _, rs := range b.replicaSets {
		if !metav1.IsControlledBy(rs, d) {
			continue
		}
		added = true
		if (found == nil || rs.CreationTimestamp.Before(&found.CreationTimestamp)) &&
			equality.Semantic.DeepEqual(plain(&rs.Spec.Template), plain(&d.Spec.Template)) {
			found = rs
		}
	}
	return found, added
}

// fenceposts returns the numbers of pods of a rolling update (pkg/controller/deployment/util/deployment_util.go MaxSurge,
// MaxUnavailable and ResolveFenceposts, v1.37). A strategy without numbers has those that the API server sets, 25%.
func fenceposts(d *appsv1.Deployment) (surge, unavailable int, err error) {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0, 0, nil
	}
	quarter := intstr.FromString("25%")
	most, least := &quarter, &quarter
	if u := d.Spec.Strategy.RollingUpdate; u != nil {
		if u.MaxSurge != nil {
			most = u.MaxSurge
		}
		if u.MaxUnavailable != nil {
			least = u.MaxUnavailable
		}
	}
	replicas := int(replicasOf(d.Spec.Replicas))
	if surge, err = intstr.GetScaledValueFromIntOrPercent(most, replicas, true); err != nil {
		return 0, 0, fmt.Errorf("spec.strategy.rollingUpdate.maxSurge: %w", err)
	}
	if unavailable, err = intstr.GetScaledValueFromIntOrPercent(least, replicas, false); err != nil {
		return 0, 0, fmt.Errorf("spec.strategy.rollingUpdate.maxUnavailable: %w", err)
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, min(unavailable, replicas), nil
}

// Rollout returns the rollout of a workload, nil if there is none.
func (s *Snapshot) Rollout(of Origin) *Rollout {
	for i := range s.Rollouts {
		if s.Rollouts[i].Origin == of {
			return &s.Rollouts[i]
		}
	}
	return nil
}
