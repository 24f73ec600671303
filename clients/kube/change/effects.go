package change

import (
	"fmt"
	"iter"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
)

// Shrink decides which pods leave as their workload is to have fewer replicas. It reports false if none leaves, or if it is not
// known which.
func (c *Change) Shrink(in *Cluster) bool {
	c.Leaves = c.leaving(in)
	return c.Leaves != nil
}

// leaving returns which pods leave, nil if that is not known.
func (c *Change) leaving(in *Cluster) func(*corev1.Pod) bool {
	var was, is int32
	owned := func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, c.After) }
	some := func(n int) func(*corev1.Pod) bool { return firstToLeave(in.Pods, owned, n) }
	none := func(int) func(*corev1.Pod) bool { return nil }
	switch after := c.After.(type) {
	case *appsv1.Deployment:
		before := c.Before.(*appsv1.Deployment)
		was, is = controller.Replicas(before.Spec.Replicas), controller.Replicas(after.Spec.Replicas)
		selector, err := metav1.LabelSelectorAsSelector(after.Spec.Selector)
		if err != nil {
			return nil
		}
		owned = func(p *corev1.Pod) bool {
			of := metav1.GetControllerOfNoCopy(p)
			return of != nil && of.Kind == "ReplicaSet" && object.Namespace(p) == c.Namespace && selector.Matches(labels.Set(p.Labels))
		}
		if edited(&before.Spec.Template, &after.Spec.Template) && !after.Spec.Paused {
			some = none // the rollout begins with it
		}
	case *appsv1.ReplicaSet:
		was, is = controller.Replicas(c.Before.(*appsv1.ReplicaSet).Spec.Replicas), controller.Replicas(after.Spec.Replicas)
		if metav1.GetControllerOfNoCopy(after) != nil {
			return nil
		}
	case *corev1.ReplicationController:
		was, is = controller.Replicas(c.Before.(*corev1.ReplicationController).Spec.Replicas), controller.Replicas(after.Spec.Replicas)
	case *appsv1.StatefulSet:
		was, is = controller.Replicas(c.Before.(*appsv1.StatefulSet).Spec.Replicas), controller.Replicas(after.Spec.Replicas)
		if edited(&c.Before.(*appsv1.StatefulSet).Spec.Template, &after.Spec.Template) {
			return nil
		}
		some = func(n int) func(*corev1.Pod) bool { return highestOrdinals(owned, after, n) }
	case *batchv1.Job:
		was, is, some = controller.JobPods(c.Before.(*batchv1.Job)), controller.JobPods(after), none
	}
	switch {
	case is >= was:
		return nil
	case is == 0:
		return owned
	}
	return some(int(is))
}

// highestOrdinals returns which pods of a StatefulSet leave so that n remain.
func highestOrdinals(owned func(*corev1.Pod) bool, of *appsv1.StatefulSet, n int) func(*corev1.Pod) bool {
	if of.Spec.Ordinals != nil {
		n += int(of.Spec.Ordinals.Start)
	}
	return func(p *corev1.Pod) bool { return owned(p) && controller.Ordinal(p) >= n }
}

// firstToLeave returns which pods a ReplicaSet deletes so that n remain. It is nil if there are no pods, or pods of several
// ReplicaSets, all of which their Deployment scales.
func firstToLeave(all iter.Seq[*corev1.Pod], owned func(*corev1.Pod) bool, n int) func(*corev1.Pod) bool {
	var pods []*corev1.Pod
	for p := range all {
		if !owned(p) || !controller.IsActive(p) {
			continue
		}
		if len(pods) > 0 && metav1.GetControllerOfNoCopy(p).Name != metav1.GetControllerOfNoCopy(pods[0]).Name {
			return nil
		}
		pods = append(pods, p)
	}
	if len(pods) == 0 {
		return nil
	}
	leave := map[string]bool{}
	for _, p := range controller.DeletionOrder(pods, pods, controller.Newest(pods))[:max(0, len(pods)-n)] {
		leave[p.Name] = true
	}
	return func(p *corev1.Pod) bool { return leave[p.Name] && owned(p) }
}

// decision decides what one change creates.
type decision struct {
	*Change
	in      *Cluster
	effects *Effects
	pods    []controller.Stamp
	group   *skew.PodGroup
}

// Grow returns the pods that a changed workload creates, with the group that a Job creates for them, and adds the effects that the
// cluster does not contain.
func (c *Change) Grow(in *Cluster, effects *Effects) ([]controller.Stamp, *skew.PodGroup, error) {
	d := decision{Change: c, in: in, effects: effects}
	message, err := d.grow()
	if message != "" {
		effects.Undecided = append(effects.Undecided, Undecided{c.Origin, c.At, message})
	}
	return d.pods, d.group, err
}

// create adds equal pods of an owner.
func (d *decision) create(o controller.Owner, template *corev1.PodTemplateSpec, n uint32) {
	d.pods = append(d.pods, controller.Stamp{Pod: o.Pod(template, d.Name, nil), Count: n})
}

// grow decides about workloads of all kinds. message is what the decision leaves out.
func (d *decision) grow() (message string, err error) {
	switch after := d.After.(type) {
	case *appsv1.Deployment:
		before := d.Before.(*appsv1.Deployment)
		if edited(&before.Spec.Template, &after.Spec.Template) && !after.Spec.Paused {
			return d.deployment(before, after), nil
		}
		n, message := grown(before.Spec.Replicas, after.Spec.Replicas)
		if n == 0 {
			return message, nil
		}
		o, template, ok := d.in.revision(before)
		if !ok {
			return fmt.Sprintf("%d more replicas are not placed: there are pods of several revisions, and no ReplicaSet that tells "+
				"the current one", n), nil
		}
		d.create(o, template, n)
		return "", nil
	case *appsv1.ReplicaSet:
		before := d.Before.(*appsv1.ReplicaSet)
		n, message := grown(before.Spec.Replicas, after.Spec.Replicas)
		if of := metav1.GetControllerOfNoCopy(after); of != nil && (n > 0 || message != "") {
			return fmt.Sprintf("its replicas stay: %s %s decides them", of.Kind, of.Name), nil
		}
		o := controller.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: after.Name, Namespace: d.Namespace}
		d.create(o, &after.Spec.Template, n)
		return message, nil
	case *corev1.ReplicationController:
		n, message := grown(d.Before.(*corev1.ReplicationController).Spec.Replicas, after.Spec.Replicas)
		if n == 0 || after.Spec.Template == nil {
			return message, nil
		}
		o := controller.Owner{APIVersion: "v1", Kind: "ReplicationController", Name: after.Name, Namespace: d.Namespace}
		d.create(o, after.Spec.Template, n)
		return message, nil
	case *appsv1.StatefulSet:
		before := d.Before.(*appsv1.StatefulSet)
		revision := after.Status.UpdateRevision
		if edited(&before.Spec.Template, &after.Spec.Template) {
			if revision = ""; after.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
				return d.statefulSet(before, after), nil
			}
		}
		n, message := grown(before.Spec.Replicas, after.Spec.Replicas)
		if edited(&before.Spec.Template, &after.Spec.Template) {
			d.effects.OnDelete = append(d.effects.OnDelete, d.Origin)
		}
		if n == 0 {
			return message, nil
		}
		if d.pods, err = controller.StatefulPods(after, revision, int(controller.Replicas(before.Spec.Replicas))); err != nil {
			return "", err
		}
		return message, nil
	case *appsv1.DaemonSet:
		before := d.Before.(*appsv1.DaemonSet)
		switch {
		case !edited(&before.Spec.Template, &after.Spec.Template):
		case after.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType:
			d.effects.OnDelete = append(d.effects.OnDelete, d.Origin)
		default:
			return d.daemonSet(before, after), nil
		}
	case *batchv1.Job:
		return d.job(d.Before.(*batchv1.Job), after)
	case *controller.CustomWorkload:
		return changedParts(d.Before.(*controller.CustomWorkload), after), nil
	}
	return "", nil
}

// job decides which pods a Job creates once it may run more of them at a time.
func (d *decision) job(before, after *batchv1.Job) (message string, err error) {
	was, is := controller.JobPods(before), controller.JobPods(after)
	n, message := grown(&was, &is)
	switch {
	case n == 0:
		return message, nil
	case edited(&before.Spec.Template, &after.Spec.Template) && was > 0:
		return "its template stays: the API server does not change that of a Job that runs", nil
	case was+after.Status.Succeeded > 0 && after.Spec.CompletionMode != nil &&
		*after.Spec.CompletionMode == batchv1.IndexedCompletion:
		return fmt.Sprintf("%d more pods are not placed: which indexes are left is not read", n), nil
	}
	spec := after.Spec.DeepCopy()
	spec.Parallelism, spec.Completions = new(int32(n)), nil
	o := controller.Owner{APIVersion: "batch/v1", Kind: "Job", Name: after.Name, Namespace: d.Namespace}
	d.pods, d.group, err = controller.NewJobPods(spec, o, field.NewPath("spec"))
	return "", err
}

const rollout = "its template changes: the rollout that replaces its pods is not decided; they stay as they are"

// edited reports whether the pods of a template are replaced by pods of another template.
func edited(before, after *corev1.PodTemplateSpec) bool {
	return !equality.Semantic.DeepEqual(before, after)
}

// grown returns by how much a number of replicas grows, and says what is left out if it falls.
func grown(before, after *int32) (n uint32, message string) {
	was, is := controller.Replicas(before), controller.Replicas(after)
	if is < was {
		return 0, fmt.Sprintf("of %d replicas %d remain: which pods leave is not decided; they stay", was, is)
	}
	return uint32(is - was), ""
}

// changedParts says what a change of a custom resource leaves out.
func changedParts(before, after *controller.CustomWorkload) string {
	if equality.Semantic.DeepEqual(before.Parts, after.Parts) {
		return ""
	}
	return "its pods stay as they are: what its controller does about the change is not decided"
}
