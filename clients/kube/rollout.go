package kube

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout is a Deployment of a cluster whose template changes, so that its controller replaces its pods. Of its pods the snapshot
// has those that the cluster has. It is among Snapshot.Undecided, too.
type Rollout struct {
	Origin
	// At is the object with the change, as From named it.
	At string
	// Recreate says that all old pods leave before the first new one is created.
	Recreate bool
	// Replicas is the number of pods after the change, and Before that before it: the ReplicaSet that runs is scaled first.
	Replicas, Before int
	// MaxSurge and MaxUnavailable are resolved to numbers of pods.
	MaxSurge, MaxUnavailable int
	// New is a pod of the new revision, Old one of the revision that runs. Both have the name of their ReplicaSet.
	New, Old *corev1.Pod
}

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
		return fmt.Sprintf("its template changes: the rollout is not decided, as %v; its pods stay as they are", err)
	}
	fresh, template, err := b.newRevision(after)
	if err != nil {
		return fmt.Sprintf("its template changes: the rollout is not decided, as %v; its pods stay as they are", err)
	}
	r.New = fresh.pod(template, fresh.name, nil)
	b.rollouts = append(b.rollouts, r)
	return rollout
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

// Rollout returns the rollout of a Deployment, nil if there is none.
func (s *Snapshot) Rollout(of Origin) *Rollout {
	for i := range s.Rollouts {
		if s.Rollouts[i].Origin == of {
			return &s.Rollouts[i]
		}
	}
	return nil
}
