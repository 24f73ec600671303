package kube

import (
	"fmt"
	"maps"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maximumOrdinals bounds how many pods of one object become queue entries one by one.
const maximumOrdinals = 10_000

// AddDeployment adds the ReplicaSet that a Deployment without a uid would create, and its pods. One with a uid already
// has its ReplicaSets, which are objects of their own.
func (b *Builder) AddDeployment(d *appsv1.Deployment) error {
	if err := b.once("Deployment", namespaceOf(d), d.Name); err != nil {
		return err
	}
	hash, err := templateHash(&d.Spec.Template)
	if err != nil {
		return err
	}
	origin := Origin{Kind: "Deployment", Namespace: namespaceOf(d), Name: d.Name}
	selector, err := labelSelectorOf(stowagev1.WorkloadKind_WORKLOAD_KIND_UNSPECIFIED, d, d.Spec.Selector)
	if err != nil {
		return err
	}
	o := owner{"apps/v1", "ReplicaSet", d.Name + "-" + hash, origin.Namespace}
	if err := b.scalable(origin, d, selector.Selector, o.pod(&d.Spec.Template, d.Name, nil)); err != nil {
		return err
	}
	if b.exists("Deployment", d) {
		return nil
	}
	labels := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	rs := &appsv1.ReplicaSet{}
	rs.Name, rs.Namespace = d.Name+"-"+hash, d.Namespace
	rs.Spec.Replicas = d.Spec.Replicas
	rs.Spec.Template = *d.Spec.Template.DeepCopy()
	rs.Spec.Template.Labels = withLabels(rs.Spec.Template.Labels, labels)
	if d.Spec.Selector != nil {
		rs.Spec.Selector = d.Spec.Selector.DeepCopy()
		rs.Spec.Selector.MatchLabels = withLabels(rs.Spec.Selector.MatchLabels, labels)
	}
	return b.replicaSet(rs, origin)
}

// AddReplicaSet adds a ReplicaSet's selector and, if it has no uid, its pods.
func (b *Builder) AddReplicaSet(rs *appsv1.ReplicaSet) error {
	return b.replicaSet(rs, Origin{Kind: "ReplicaSet", Namespace: namespaceOf(rs), Name: rs.Name})
}

func (b *Builder) replicaSet(rs *appsv1.ReplicaSet, origin Origin) error {
	if err := b.once("ReplicaSet", namespaceOf(rs), rs.Name); err != nil {
		return err
	}
	selector, err := ReplicaSetSelector(rs)
	if err != nil {
		return err
	}
	b.selector(selector)
	o := owner{"apps/v1", "ReplicaSet", rs.Name, namespaceOf(rs)}
	if origin.Kind == "ReplicaSet" {
		if err := b.scalable(origin, rs, selector.Selector, o.pod(&rs.Spec.Template, rs.Name, nil)); err != nil {
			return err
		}
	}
	if b.exists("ReplicaSet", rs) {
		return nil
	}
	return b.replicas(origin, rs.Spec.Replicas, o.pod(&rs.Spec.Template, rs.Name, nil))
}

// AddReplicationController adds a ReplicationController's selector and, if it has no uid, its pods.
func (b *Builder) AddReplicationController(rc *corev1.ReplicationController) error {
	if err := b.once("ReplicationController", namespaceOf(rc), rc.Name); err != nil {
		return err
	}
	selector := ReplicationControllerSelector(rc)
	b.selector(selector)
	if rc.Spec.Template == nil {
		b.exists("ReplicationController", rc)
		return nil
	}
	o := owner{"v1", "ReplicationController", rc.Name, namespaceOf(rc)}
	origin, pod := Origin{Kind: o.kind, Namespace: o.namespace, Name: o.name}, o.pod(rc.Spec.Template, rc.Name, nil)
	if err := b.scalable(origin, rc, selector.Selector, pod); err != nil {
		return err
	}
	if b.exists("ReplicationController", rc) {
		return nil
	}
	return b.replicas(origin, rc.Spec.Replicas, pod)
}

// replicas queues equal pods.
func (b *Builder) replicas(origin Origin, replicas *int32, pod *corev1.Pod) error {
	n, err := count(replicas, field.NewPath("spec", "replicas"))
	if err != nil {
		return err
	}
	return b.enqueue(origin, templateSpec, stamp{pod, n})
}

// AddStatefulSet adds a StatefulSet's selector and, if it has no uid, its pods: one queue entry per ordinal, as each
// has labels of its own.
func (b *Builder) AddStatefulSet(ss *appsv1.StatefulSet) error {
	if err := b.once("StatefulSet", namespaceOf(ss), ss.Name); err != nil {
		return err
	}
	selector, err := StatefulSetSelector(ss)
	if err != nil {
		return err
	}
	b.selector(selector)
	o := owner{"apps/v1", "StatefulSet", ss.Name, namespaceOf(ss)}
	origin := Origin{Kind: o.kind, Namespace: o.namespace, Name: o.name}
	if err := b.scalable(origin, ss, selector.Selector, o.pod(&ss.Spec.Template, ss.Name, nil)); err != nil {
		return err
	}
	if b.exists("StatefulSet", ss) {
		return nil
	}
	n, err := ordinals(ss.Spec.Replicas, field.NewPath("spec", "replicas"))
	if err != nil {
		return err
	}
	first := 0
	if ss.Spec.Ordinals != nil {
		first = int(ss.Spec.Ordinals.Start)
	}
	hash, err := templateHash(&ss.Spec.Template)
	if err != nil {
		return err
	}
	template := ss.Spec.Template.DeepCopy()
	for _, claim := range ss.Spec.VolumeClaimTemplates {
		template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}})
	}
	stamps := make([]stamp, 0, n)
	for i := first; i < first+n; i++ {
		name := fmt.Sprintf("%s-%d", ss.Name, i)
		stamps = append(stamps, stamp{o.pod(template, name, map[string]string{
			appsv1.ControllerRevisionHashLabelKey: ss.Name + "-" + hash,
			appsv1.StatefulSetPodNameLabel:        name,
			appsv1.PodIndexLabel:                  strconv.Itoa(i),
		}), 1})
	}
	return b.enqueue(origin, templateSpec, stamps...)
}

// AddJob adds the pods that a Job without a uid would start with: as many as parallelism and completions allow, none
// while it is suspended.
func (b *Builder) AddJob(j *batchv1.Job) error {
	if err := b.once("Job", namespaceOf(j), j.Name); err != nil {
		return err
	}
	if b.exists("Job", j) {
		return nil
	}
	return b.job(&j.Spec, owner{"batch/v1", "Job", j.Name, namespaceOf(j)},
		Origin{Kind: "Job", Namespace: namespaceOf(j), Name: j.Name}, field.NewPath("spec"))
}

// AddCronJob adds the pods of one run of a CronJob without a uid, none while it is suspended.
func (b *Builder) AddCronJob(cj *batchv1.CronJob) error {
	if err := b.once("CronJob", namespaceOf(cj), cj.Name); err != nil {
		return err
	}
	if b.exists("CronJob", cj) || cj.Spec.Suspend != nil && *cj.Spec.Suspend {
		return nil
	}
	return b.job(&cj.Spec.JobTemplate.Spec, owner{"batch/v1", "Job", cj.Name, namespaceOf(cj)},
		Origin{Kind: "CronJob", Namespace: namespaceOf(cj), Name: cj.Name}, field.NewPath("spec", "jobTemplate", "spec"))
}

func (b *Builder) job(s *batchv1.JobSpec, o owner, origin Origin, path *field.Path) error {
	if s.Suspend != nil && *s.Suspend {
		return nil
	}
	n, err := count(s.Parallelism, path.Child("parallelism"))
	if err != nil {
		return err
	}
	if s.Completions != nil {
		completions, err := count(s.Completions, path.Child("completions"))
		if err != nil {
			return err
		}
		n = min(n, completions)
	}
	template, err := b.jobTemplate(s, o, n, path)
	if err != nil {
		return err
	}
	labels := map[string]string{batchv1.JobNameLabel: o.name, "job-name": o.name}
	if s.CompletionMode == nil || *s.CompletionMode != batchv1.IndexedCompletion {
		return b.enqueue(origin, path.Child("template", "spec"), stamp{o.pod(template, o.name, labels), n})
	}
	if n > maximumOrdinals {
		return field.TooMany(path.Child("parallelism"), int(n), maximumOrdinals)
	}
	var stamps []stamp
	for i := range int(n) {
		index := strconv.Itoa(i)
		stamps = append(stamps, stamp{o.pod(template, o.name+"-"+index,
			withLabels(labels, map[string]string{batchv1.JobCompletionIndexAnnotation: index})), 1})
	}
	return b.enqueue(origin, path.Child("template", "spec"), stamps...)
}

// count is a number of pods, 1 by default.
func count(n *int32, path *field.Path) (uint32, error) {
	if n == nil {
		return 1, nil
	}
	if *n < 0 {
		return 0, field.Invalid(path, *n, "must not be negative")
	}
	return uint32(*n), nil
}

// ordinals is a number of pods that are stated one by one.
func ordinals(n *int32, path *field.Path) (int, error) {
	v, err := count(n, path)
	if err == nil && v > maximumOrdinals {
		err = field.TooMany(path, int(v), maximumOrdinals)
	}
	return int(v), err
}

func withLabels(labels, more map[string]string) map[string]string {
	out := make(map[string]string, len(labels)+len(more))
	maps.Copy(out, labels)
	maps.Copy(out, more)
	return out
}
