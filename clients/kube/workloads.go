package kube

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/admission"
	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// exists reports whether the pods of a workload are objects of their own already, and records the workload with its replicas
// and the selector of its pods.
func (b *Builder) exists(kind string, o metav1.Object, replicas *int32, selector *metav1.LabelSelector) bool {
	if !object.Admitted(o) {
		return false
	}
	origin := object.Of(kind, o)
	b.workloads.workload(origin, b.changed(origin, o), replicas, selector)
	if metav1.GetControllerOfNoCopy(o) == nil {
		b.workloads.Existing = append(b.workloads.Existing, origin)
	}
	return true
}

// AddDeployment adds the ReplicaSet that a Deployment without a uid would create, and its pods. The ReplicaSets of a
// Deployment with a uid are objects of their own.
func (b *Builder) AddDeployment(d *appsv1.Deployment) error {
	origin := object.Of("Deployment", d)
	if err := b.objects.once(origin); err != nil {
		return err
	}
	return b.misreadPods(origin, toCome(d, d.Spec.Replicas), b.deployment(d, origin))
}

func (b *Builder) deployment(d *appsv1.Deployment, origin Origin) error {
	exists := b.exists("Deployment", d, d.Spec.Replicas, d.Spec.Selector)
	hash, err := controller.TemplateHash(&d.Spec.Template)
	if err != nil {
		return err
	}
	selector, err := convert.DeploymentSelector(d)
	if err != nil {
		return err
	}
	o := controller.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: d.Name + "-" + hash, Namespace: origin.Namespace}
	if err := b.scalable(origin, d, selector.Selector, controller.Stamp{Pod: o.Pod(&d.Spec.Template, d.Name, nil)}); err != nil {
		return err
	}
	if exists {
		b.workloads.deployments[origin] = d
		return nil
	}
	return b.revisionSet(d, d.Spec.Replicas, &d.Spec.Template, d.Spec.Selector, appsv1.DefaultDeploymentUniqueLabelKey, origin)
}

// revisionSet adds the ReplicaSet that a workload creates for its template. A label has the hash of the template.
func (b *Builder) revisionSet(of metav1.Object, replicas *int32, template *corev1.PodTemplateSpec, selector *metav1.LabelSelector,
	hashLabel string, origin Origin,
) error {
	rs, err := controller.RevisionSet(of, replicas, template, selector, hashLabel)
	if err != nil {
		return err
	}
	if err := b.objects.once(object.Of("ReplicaSet", rs)); err != nil {
		return err
	}
	converted, err := convert.ReplicaSetSelector(rs)
	if err != nil {
		return err
	}
	return b.replicaSet(rs, converted, origin)
}

// AddReplicaSet adds a ReplicaSet's selector and, if it has no uid, its pods.
func (b *Builder) AddReplicaSet(rs *appsv1.ReplicaSet) error {
	origin := object.Of("ReplicaSet", rs)
	if err := b.objects.once(origin); err != nil {
		return err
	}
	selector, err := convert.ReplicaSetSelector(rs)
	return b.withSelector(origin, rs, rs.Spec.Replicas, err, func() error { return b.replicaSet(rs, selector, origin) })
}

// withSelector adds a workload unless its selector was not understood. Decisions about the pods that a workload has already
// created read its selector.
func (b *Builder) withSelector(origin Origin, o metav1.Object, replicas *int32, err error, add func() error) error {
	if err != nil && object.Admitted(o) {
		return b.objects.misread(origin, false, err)
	}
	if err == nil {
		err = add()
	}
	return b.misreadPods(origin, toCome(o, replicas), err)
}

func (b *Builder) replicaSet(rs *appsv1.ReplicaSet, selector *stowagev1.WorkloadSelector, origin Origin) error {
	exists := b.exists("ReplicaSet", rs, rs.Spec.Replicas, rs.Spec.Selector)
	b.selector(selector)
	o := controller.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: rs.Name, Namespace: object.Namespace(rs)}
	if origin.Kind == "ReplicaSet" {
		if err := b.scalable(origin, rs, selector.Selector, controller.Stamp{Pod: o.Pod(&rs.Spec.Template, rs.Name, nil)}); err != nil {
			return err
		}
	}
	if exists {
		if metav1.GetControllerOfNoCopy(rs) != nil {
			b.workloads.replicaSets = append(b.workloads.replicaSets, rs)
		}
		return nil
	}
	return b.replicas(origin, rs.Spec.Replicas, o.Pod(&rs.Spec.Template, rs.Name, nil))
}

// AddReplicationController adds a ReplicationController's selector and, if it has no uid, its pods.
func (b *Builder) AddReplicationController(rc *corev1.ReplicationController) error {
	origin := object.Of("ReplicationController", rc)
	if err := b.objects.once(origin); err != nil {
		return err
	}
	exists := b.exists(origin.Kind, rc, rc.Spec.Replicas, metav1.SetAsLabelSelector(rc.Spec.Selector))
	selector := convert.ReplicationControllerSelector(rc)
	b.selector(selector)
	if rc.Spec.Template == nil {
		return nil
	}
	o := controller.Owner{APIVersion: "v1", Kind: "ReplicationController", Name: rc.Name, Namespace: object.Namespace(rc)}
	pod := o.Pod(rc.Spec.Template, rc.Name, nil)
	err := b.scalable(origin, rc, selector.Selector, controller.Stamp{Pod: pod})
	if err == nil && !exists {
		err = b.replicas(origin, rc.Spec.Replicas, pod)
	}
	return b.misreadPods(origin, toCome(rc, rc.Spec.Replicas), err)
}

// replicas queues equal pods.
func (b *Builder) replicas(origin Origin, replicas *int32, pod *corev1.Pod) error {
	n, err := controller.Count(replicas, field.NewPath("spec", "replicas"))
	return b.create(origin, convert.TemplateSpecPath, []controller.Stamp{{Pod: pod, Count: n}}, nil, err)
}

// AddStatefulSet adds a StatefulSet's selector and, if it has no uid, its pods: one queue entry per ordinal, as each pod
// has labels of its own.
func (b *Builder) AddStatefulSet(ss *appsv1.StatefulSet) error {
	origin := object.Of("StatefulSet", ss)
	if err := b.objects.once(origin); err != nil {
		return err
	}
	selector, err := convert.StatefulSetSelector(ss)
	return b.withSelector(origin, ss, ss.Spec.Replicas, err, func() error { return b.statefulSet(ss, selector, origin) })
}

func (b *Builder) statefulSet(ss *appsv1.StatefulSet, selector *stowagev1.WorkloadSelector, origin Origin) error {
	exists := b.exists("StatefulSet", ss, ss.Spec.Replicas, ss.Spec.Selector)
	b.selector(selector)
	b.storage.AddStatefulSet(ss)
	if err := b.scalable(origin, ss, selector.Selector, controller.StatefulPod(ss)); err != nil {
		return err
	}
	if exists {
		return nil
	}
	pods, err := controller.StatefulPods(ss, "", 0)
	return b.create(origin, convert.TemplateSpecPath, pods, nil, err)
}

// AddJob adds the pods that a Job without a uid would start with: as many as parallelism and completions allow, none while
// it is suspended. A Job without a name is another one each time.
func (b *Builder) AddJob(j *batchv1.Job) error {
	if j.Name == "" {
		j = j.DeepCopy()
		j.Name = b.objects.generatedName(object.Namespace(j), j.GenerateName)
	}
	origin := object.Of("Job", j)
	if err := b.objects.once(origin); err != nil {
		return err
	}
	b.suspend(origin, j.Spec.Suspend)
	if b.exists("Job", j, controller.Parallelism(j), j.Spec.Selector) {
		return nil
	}
	o := controller.Owner{APIVersion: "batch/v1", Kind: "Job", Name: j.Name, Namespace: object.Namespace(j)}
	return b.misreadPods(origin, toCome(j, j.Spec.Parallelism), b.job(&j.Spec, o, origin, field.NewPath("spec")))
}

// AddCronJob adds the pods of one run of a CronJob without a uid, none while it is suspended.
func (b *Builder) AddCronJob(cj *batchv1.CronJob) error {
	origin := object.Of("CronJob", cj)
	if err := b.objects.once(origin); err != nil {
		return err
	}
	spec, o := &cj.Spec.JobTemplate.Spec, controller.Owner{APIVersion: "batch/v1", Kind: "Job", Name: cj.Name, Namespace: object.Namespace(cj)}
	suspended := b.suspend(origin, cj.Spec.Suspend, spec.Suspend)
	if b.exists("CronJob", cj, new(int32), nil) || suspended {
		return nil
	}
	return b.misreadPods(origin, toCome(cj, spec.Parallelism), b.job(spec, o, origin, field.NewPath("spec", "jobTemplate", "spec")))
}

// job queues the pods of a new Job, with their group.
func (b *Builder) job(s *batchv1.JobSpec, o controller.Owner, origin Origin, path *field.Path) error {
	pods, group, err := controller.NewJobPods(s, o, path)
	return b.create(origin, path.Child("template", "spec"), pods, group, err)
}

// create queues pods with a group, nil for none, unless there is an error.
func (b *Builder) create(origin Origin, path *field.Path, pods []controller.Stamp, group *skew.PodGroup, err error) error {
	if err == nil && group != nil {
		err = b.AddPodGroup(group)
	}
	if err == nil {
		err = b.enqueue(origin, path, pods...)
	}
	return err
}

// suspend records a workload if a flag says that it is suspended, and reports whether one does.
func (b *Builder) suspend(of Origin, flags ...*bool) bool {
	is := slices.ContainsFunc(flags, func(f *bool) bool { return f != nil && *f })
	if is {
		b.workloads.Suspended = append(b.workloads.Suspended, of)
	}
	return is
}

// AddDaemonSet adds a pod for each node for which the DaemonSet controller would create one, if the DaemonSet has no uid.
// The nodes are all nodes of the Builder, in whatever order they are added.
func (b *Builder) AddDaemonSet(ds *appsv1.DaemonSet) error {
	origin := object.Of("DaemonSet", ds)
	if err := b.objects.once(origin); err != nil {
		return err
	}
	b.workloads.daemonSets = append(b.workloads.daemonSets, ds.DeepCopy())
	if b.exists("DaemonSet", ds, nil, ds.Spec.Selector) {
		return nil
	}
	// Whether the template converts does not depend on the nodes, so its errors belong to this object.
	of := convert.Source{Object: origin, Path: convert.TemplateSpecPath, Pod: &corev1.Pod{Spec: ds.Spec.Template.Spec}}
	if _, err := new(convert.Environment).PendingPod(of); err != nil {
		return b.misreadPods(origin, 1, err)
	}
	b.queue.slots = append(b.queue.slots, slot{source: of, at: b.objects.at, daemonSet: ds.DeepCopy()})
	return nil
}

// AddCustomWorkload adds the pods of a custom resource without a uid. The pods of a resource with a uid are objects of their own.
func (b *Builder) AddCustomWorkload(w *controller.CustomWorkload) error {
	if w.Name == "" {
		w = w.With(w)
		w.Name = b.objects.generatedName(object.Namespace(w), w.GenerateName)
	}
	origin := object.Of(w.Kind, w)
	if err := b.objects.once(object.Of(w.Kind+"."+w.APIVersion, w)); err != nil {
		return err
	}
	b.suspend(origin, &w.Suspended)
	if b.exists(w.Kind, w, w.Replicas(), w.Selector) || w.Ended {
		return nil
	}
	queued := len(b.queue.slots)
	var err error
	for i := range w.Parts {
		if err = b.customPart(origin, w, &w.Parts[i]); err != nil {
			b.queue.slots = b.queue.slots[:queued]
			break
		}
	}
	return b.misreadPods(origin, toCome(w, w.Replicas()), err)
}

func (b *Builder) customPart(origin Origin, w *controller.CustomWorkload, p *controller.CustomPart) error {
	from := len(b.queue.slots)
	path := field.NewPath(p.Path)
	var err error
	switch {
	case p.ReplicaSet != nil:
		s := p.ReplicaSet
		err = b.revisionSet(w, s.Replicas, &s.Template, s.Selector, s.HashLabel, origin)
	case p.StatefulSet != nil:
		err = b.customStatefulSet(origin, p.StatefulSet, path.Child("spec"))
	case p.Job != nil:
		err = b.job(&p.Job.Spec, controller.Owner{APIVersion: "batch/v1", Kind: "Job", Name: p.Job.Name, Namespace: origin.Namespace}, origin, path)
	default:
		o := controller.Owner{APIVersion: w.APIVersion, Kind: w.Kind, Name: w.Name, Namespace: origin.Namespace}
		pods, wrong := p.Pods.Stamps(o, path.Child("spec"))
		err = b.create(origin, path.Child("spec"), pods, nil, wrong)
	}
	b.noteAdded(p, b.queue.slots[from:])
	return err
}

func (b *Builder) customStatefulSet(origin Origin, ss *appsv1.StatefulSet, path *field.Path) error {
	ss.Namespace = origin.Namespace
	selector, err := convert.StatefulSetSelector(ss)
	if err != nil {
		return err
	}
	b.selector(selector)
	pods, err := controller.StatefulPods(ss, "", 0)
	return b.create(origin, path, pods, nil, err)
}

// noteAdded records that pods contain more than their template, where that matters: an init container does if it requests more
// than the containers.
func (b *Builder) noteAdded(p *controller.CustomPart, queued []slot) {
	for i := range queued {
		of := &queued[i].source
		adds := p.Adds
		requests := skew.PodRequests(admission.Defaulted(of.Pod), skew.RequestOptions{})
		for name, q := range p.Initial {
			if has := requests[name]; has.Cmp(q) < 0 {
				adds = fmt.Sprintf("the controller adds an init container that requests %s of %s", q.String(), name)
			}
		}
		if adds != "" {
			of.Adds = adds
			queued[i].pods.Pod.Unread = append(queued[i].pods.Pod.Unread, &stowagev1.UnreadField{
				Object: of.Object.String(), Field: of.Path.String(), Consequence: adds,
			})
		}
	}
}
