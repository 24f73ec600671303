package kube

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maximumOrdinals bounds how many pods of one object become queue entries one by one.
const maximumOrdinals = 10_000

// AddDeployment adds the ReplicaSet that a Deployment without a uid would create, and its pods. The ReplicaSets of a
// Deployment with a uid are objects of their own.
func (b *Builder) AddDeployment(d *appsv1.Deployment) error {
	if err := b.once("Deployment", namespaceOf(d), d.Name); err != nil {
		return err
	}
	origin := Origin{Kind: "Deployment", Namespace: namespaceOf(d), Name: d.Name}
	return b.misreadPods(origin, toCome(d, d.Spec.Replicas), b.deployment(d, origin))
}

func (b *Builder) deployment(d *appsv1.Deployment, origin Origin) error {
	exists := b.exists("Deployment", d, d.Spec.Replicas, d.Spec.Selector)
	hash, err := templateHash(&d.Spec.Template)
	if err != nil {
		return err
	}
	selector, err := labelSelectorOf(stowagev1.WorkloadKind_WORKLOAD_KIND_UNSPECIFIED, d, d.Spec.Selector)
	if err != nil {
		return err
	}
	o := owner{"apps/v1", "ReplicaSet", d.Name + "-" + hash, origin.Namespace}
	if err := b.scalable(origin, d, selector.Selector, stamp{pod: o.pod(&d.Spec.Template, d.Name, nil)}); err != nil {
		return err
	}
	if exists {
		b.deployments[origin] = d
		return nil
	}
	return b.revisionSet(d, d.Spec.Replicas, &d.Spec.Template, d.Spec.Selector, appsv1.DefaultDeploymentUniqueLabelKey, origin)
}

// revisionSet adds the ReplicaSet that a workload creates for its template. A label has the hash of the template.
func (b *Builder) revisionSet(of metav1.Object, replicas *int32, template *corev1.PodTemplateSpec, selector *metav1.LabelSelector,
	hashLabel string, origin Origin,
) error {
	hash, err := templateHash(template)
	if err != nil {
		return err
	}
	labels := map[string]string{hashLabel: hash}
	rs := &appsv1.ReplicaSet{}
	rs.Name, rs.Namespace = of.GetName()+"-"+hash, of.GetNamespace()
	rs.Spec.Replicas = replicas
	rs.Spec.Template = *template.DeepCopy()
	rs.Spec.Template.Labels = withLabels(rs.Spec.Template.Labels, labels)
	if selector != nil {
		rs.Spec.Selector = selector.DeepCopy()
		rs.Spec.Selector.MatchLabels = withLabels(rs.Spec.Selector.MatchLabels, labels)
	}
	if err := b.once("ReplicaSet", namespaceOf(rs), rs.Name); err != nil {
		return err
	}
	converted, err := ReplicaSetSelector(rs)
	if err != nil {
		return err
	}
	return b.replicaSet(rs, converted, origin)
}

// AddReplicaSet adds a ReplicaSet's selector and, if it has no uid, its pods.
func (b *Builder) AddReplicaSet(rs *appsv1.ReplicaSet) error {
	if err := b.once("ReplicaSet", namespaceOf(rs), rs.Name); err != nil {
		return err
	}
	origin := Origin{Kind: "ReplicaSet", Namespace: namespaceOf(rs), Name: rs.Name}
	selector, err := ReplicaSetSelector(rs)
	return b.withSelector(origin, rs, rs.Spec.Replicas, err, func() error { return b.replicaSet(rs, selector, origin) })
}

// withSelector adds a workload unless its selector was not understood. Decisions about the pods that a workload has already
// created read its selector.
func (b *Builder) withSelector(origin Origin, o metav1.Object, replicas *int32, err error, add func() error) error {
	if err != nil && admitted(o) {
		return b.misread(origin, false, err)
	}
	if err == nil {
		err = add()
	}
	return b.misreadPods(origin, toCome(o, replicas), err)
}

func (b *Builder) replicaSet(rs *appsv1.ReplicaSet, selector *stowagev1.WorkloadSelector, origin Origin) error {
	exists := b.exists("ReplicaSet", rs, rs.Spec.Replicas, rs.Spec.Selector)
	b.selector(selector)
	o := owner{"apps/v1", "ReplicaSet", rs.Name, namespaceOf(rs)}
	if origin.Kind == "ReplicaSet" {
		if err := b.scalable(origin, rs, selector.Selector, stamp{pod: o.pod(&rs.Spec.Template, rs.Name, nil)}); err != nil {
			return err
		}
	}
	if exists {
		if metav1.GetControllerOfNoCopy(rs) != nil {
			b.replicaSets = append(b.replicaSets, rs)
		}
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
		b.exists("ReplicationController", rc, rc.Spec.Replicas, metav1.SetAsLabelSelector(rc.Spec.Selector))
		return nil
	}
	o := owner{"v1", "ReplicationController", rc.Name, namespaceOf(rc)}
	origin := Origin{Kind: o.kind, Namespace: o.namespace, Name: o.name}
	return b.misreadPods(origin, toCome(rc, rc.Spec.Replicas), b.replicationController(rc, o, origin, selector))
}

func (b *Builder) replicationController(rc *corev1.ReplicationController, o owner, origin Origin, selector *stowagev1.WorkloadSelector) error {
	exists := b.exists("ReplicationController", rc, rc.Spec.Replicas, metav1.SetAsLabelSelector(rc.Spec.Selector))
	pod := o.pod(rc.Spec.Template, rc.Name, nil)
	if err := b.scalable(origin, rc, selector.Selector, stamp{pod: pod}); err != nil {
		return err
	}
	if exists {
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
	return b.enqueue(origin, templateSpec, stamp{pod: pod, count: n})
}

// AddStatefulSet adds a StatefulSet's selector and, if it has no uid, its pods: one queue entry per ordinal, as each pod
// has labels of its own.
func (b *Builder) AddStatefulSet(ss *appsv1.StatefulSet) error {
	if err := b.once("StatefulSet", namespaceOf(ss), ss.Name); err != nil {
		return err
	}
	origin := Origin{Kind: "StatefulSet", Namespace: namespaceOf(ss), Name: ss.Name}
	selector, err := StatefulSetSelector(ss)
	return b.withSelector(origin, ss, ss.Spec.Replicas, err, func() error { return b.statefulSet(ss, selector, origin) })
}

func (b *Builder) statefulSet(ss *appsv1.StatefulSet, selector *stowagev1.WorkloadSelector, origin Origin) error {
	exists := b.exists("StatefulSet", ss, ss.Spec.Replicas, ss.Spec.Selector)
	b.selector(selector)
	pod := stamp{pod: statefulOwner(ss).pod(withClaims(&ss.Spec.Template, ss.Spec.VolumeClaimTemplates), ss.Name, nil), claims: len(ss.Spec.VolumeClaimTemplates)}
	if err := b.scalable(origin, ss, selector.Selector, pod); err != nil {
		return err
	}
	if exists {
		return nil
	}
	stamps, err := statefulPods(ss, "", 0)
	if err != nil {
		return err
	}
	return b.enqueue(origin, templateSpec, stamps...)
}

// statefulPods returns the pods of a StatefulSet without the first ones. revision is that of its template, empty if it is not
// known.
func statefulPods(ss *appsv1.StatefulSet, revision string, without int) ([]stamp, error) {
	n, err := ordinals(ss.Spec.Replicas, field.NewPath("spec", "replicas"))
	if err != nil {
		return nil, err
	}
	first := 0
	if ss.Spec.Ordinals != nil {
		first = int(ss.Spec.Ordinals.Start)
	}
	hash, err := templateHash(&ss.Spec.Template)
	if err != nil {
		return nil, err
	}
	o := statefulOwner(ss)
	template := withClaims(&ss.Spec.Template, ss.Spec.VolumeClaimTemplates)
	var stamps []stamp
	for i := first + without; i < first+n; i++ {
		name := fmt.Sprintf("%s-%d", ss.Name, i)
		stamps = append(stamps, stamp{count: 1, claims: len(ss.Spec.VolumeClaimTemplates), pod: o.pod(template, name, map[string]string{
			appsv1.ControllerRevisionHashLabelKey: cmp.Or(revision, ss.Name+"-"+hash),
			appsv1.StatefulSetPodNameLabel:        name,
			appsv1.PodIndexLabel:                  strconv.Itoa(i),
		})})
	}
	return stamps, nil
}

func statefulOwner(ss *appsv1.StatefulSet) owner {
	return owner{"apps/v1", "StatefulSet", ss.Name, namespaceOf(ss)}
}

// withClaims returns a template with the volumes of claim templates before its own.
func withClaims(t *corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim) *corev1.PodTemplateSpec {
	var volumes []corev1.Volume
	for i := range claims {
		volumes = append(volumes, corev1.Volume{Name: claims[i].Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claims[i].Name},
		}})
	}
	out := t.DeepCopy()
	out.Spec.Volumes = append(volumes, out.Spec.Volumes...)
	return out
}

// AddJob adds the pods that a Job without a uid would start with: as many as parallelism and completions allow, none while
// it is suspended. A Job without a name is another one each time.
func (b *Builder) AddJob(j *batchv1.Job) error {
	if j.Name == "" {
		j = j.DeepCopy()
		j.Name = b.generatedName(namespaceOf(j), j.GenerateName)
	}
	if err := b.once("Job", namespaceOf(j), j.Name); err != nil {
		return err
	}
	origin := Origin{Kind: "Job", Namespace: namespaceOf(j), Name: j.Name}
	b.suspend(origin, j.Spec.Suspend)
	if b.exists("Job", j, active(j), j.Spec.Selector) {
		return nil
	}
	o := owner{"batch/v1", "Job", j.Name, namespaceOf(j)}
	return b.misreadPods(origin, toCome(j, j.Spec.Parallelism), b.job(&j.Spec, o, origin, field.NewPath("spec")))
}

// active returns the number of pods of a Job by its spec, 0 once it has ended.
func active(j *batchv1.Job) *int32 {
	if j.Status.CompletionTime != nil || j.Spec.Suspend != nil && *j.Spec.Suspend || slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue
	}) {
		return new(int32)
	}
	return j.Spec.Parallelism
}

// AddCronJob adds the pods of one run of a CronJob without a uid, none while it is suspended.
func (b *Builder) AddCronJob(cj *batchv1.CronJob) error {
	if err := b.once("CronJob", namespaceOf(cj), cj.Name); err != nil {
		return err
	}
	origin := Origin{Kind: "CronJob", Namespace: namespaceOf(cj), Name: cj.Name}
	spec, o := &cj.Spec.JobTemplate.Spec, owner{"batch/v1", "Job", cj.Name, namespaceOf(cj)}
	suspended := b.suspend(origin, cj.Spec.Suspend, spec.Suspend)
	if b.exists("CronJob", cj, new(int32), nil) || suspended {
		return nil
	}
	return b.misreadPods(origin, toCome(cj, spec.Parallelism), b.job(spec, o, origin, field.NewPath("spec", "jobTemplate", "spec")))
}

// suspend records a workload if a flag says that it is suspended, and reports whether one does.
func (b *Builder) suspend(of Origin, flags ...*bool) bool {
	is := slices.ContainsFunc(flags, func(f *bool) bool { return f != nil && *f })
	if is {
		b.suspended = append(b.suspended, of)
	}
	return is
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
		return b.enqueue(origin, path.Child("template", "spec"), stamp{pod: o.pod(template, o.name, labels), count: n})
	}
	if n > maximumOrdinals {
		return field.TooMany(path.Child("parallelism"), int(n), maximumOrdinals)
	}
	var stamps []stamp
	for i := range int(n) {
		index := strconv.Itoa(i)
		stamps = append(stamps, stamp{count: 1, pod: o.pod(template, o.name+"-"+index,
			withLabels(labels, map[string]string{batchv1.JobCompletionIndexAnnotation: index}))})
	}
	return b.enqueue(origin, path.Child("template", "spec"), stamps...)
}

// count returns a number of pods, 1 by default.
func count(n *int32, path *field.Path) (uint32, error) {
	if n == nil {
		return 1, nil
	}
	if *n < 0 {
		return 0, field.Invalid(path, *n, "must not be negative")
	}
	return uint32(*n), nil
}

// ordinals returns a number of pods that become queue entries one by one.
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
