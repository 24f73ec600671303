package kube

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// CustomWorkload is a custom resource, and what its controller creates for it.
type CustomWorkload struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// Parts are what the controller creates, none while the resource is suspended.
	Parts []CustomPart
	// Ended says that the resource has no pods any more, Suspended that it has none until somebody changes that.
	Ended, Suspended bool
	// Selector selects the pods.
	Selector *metav1.LabelSelector
}

// CustomPart is what the controller of a custom resource makes of one pod template: an object of Kubernetes, or pods. The objects
// state their names.
type CustomPart struct {
	// Path is that of the template in the custom resource; of a Job, that of its spec.
	Path string

	ReplicaSet  *CustomReplicaSet
	StatefulSet *appsv1.StatefulSet
	Job         *batchv1.Job
	Pods        *CustomPods

	// Initial is the requests of an init container that the controller adds, Adds what it adds otherwise.
	Initial corev1.ResourceList
	Adds    string
}

// CustomReplicaSet is a ReplicaSet that has a hash of its template in its name and in a label.
type CustomReplicaSet struct {
	Replicas  *int32
	Template  corev1.PodTemplateSpec
	Selector  *metav1.LabelSelector
	HashLabel string
}

// CustomPods are pods that the controller creates itself.
type CustomPods struct {
	Template corev1.PodTemplateSpec
	// Labels are added to those of the template.
	Labels map[string]string
	// Name begins the names of pods, which end at random, or with an index if Indexed. Each index is the value of the label
	// IndexLabel, if that is not empty.
	Name       string
	Indexed    bool
	First      int
	Replicas   int32
	IndexLabel string
	// NameLabel is the label that has the pod's name, if not empty.
	NameLabel string
	// Claims are the claim templates, whose volumes come before those of the template.
	Claims []corev1.PersistentVolumeClaim
}

// DeepCopyObject copies the metadata; the parts are shared, as nothing modifies them.
func (w *CustomWorkload) DeepCopyObject() runtime.Object {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// With returns the resource of a cluster with what a manifest makes of it.
func (w *CustomWorkload) With(manifest *CustomWorkload) *CustomWorkload {
	out := *w
	out.Parts = manifest.Parts
	return &out
}

// AddCustomWorkload adds the pods of a custom resource without a uid. The pods of one with a uid are objects of their own.
func (b *Builder) AddCustomWorkload(w *CustomWorkload) error {
	if w.Name == "" {
		w = w.With(w)
		w.Name = b.generatedName(namespaceOf(w), w.GenerateName)
	}
	origin := Origin{Kind: w.Kind, Namespace: namespaceOf(w), Name: w.Name}
	if err := b.once(w.Kind+"."+w.APIVersion, origin.Namespace, origin.Name); err != nil {
		return err
	}
	b.suspend(origin, &w.Suspended)
	if b.exists(w.Kind, w, w.replicas(), w.Selector) || w.Ended {
		return nil
	}
	queued := len(b.queue)
	var err error
	for i := range w.Parts {
		if err = b.customPart(origin, w, &w.Parts[i]); err != nil {
			b.queue = b.queue[:queued]
			break
		}
	}
	return b.misreadPods(origin, toCome(w, w.replicas()), err)
}

// replicas is the number of pods, more or less.
func (w *CustomWorkload) replicas() *int32 {
	total := int32(0)
	if w.Ended {
		return &total
	}
	add := func(n *int32) { total += min(replicasOf(n), maximumOrdinals) }
	for i := range w.Parts {
		switch p := &w.Parts[i]; {
		case p.ReplicaSet != nil:
			add(p.ReplicaSet.Replicas)
		case p.StatefulSet != nil:
			add(p.StatefulSet.Spec.Replicas)
		case p.Job != nil:
			add(active(p.Job))
		default:
			add(&p.Pods.Replicas)
		}
	}
	return &total
}

func (b *Builder) customPart(origin Origin, w *CustomWorkload, p *CustomPart) error {
	from := len(b.queue)
	path := field.NewPath(p.Path)
	var err error
	switch {
	case p.ReplicaSet != nil:
		s := p.ReplicaSet
		err = b.revisionSet(w, s.Replicas, &s.Template, s.Selector, s.HashLabel, origin)
	case p.StatefulSet != nil:
		err = b.customStatefulSet(origin, p.StatefulSet, path.Child("spec"))
	case p.Job != nil:
		err = b.job(&p.Job.Spec, owner{"batch/v1", "Job", p.Job.Name, origin.Namespace}, origin, path)
	default:
		err = b.customPods(origin, w, p.Pods, path.Child("spec"))
	}
	b.noteAdded(p, b.queue[from:])
	return err
}

func (b *Builder) customStatefulSet(origin Origin, ss *appsv1.StatefulSet, path *field.Path) error {
	ss.Namespace = origin.Namespace
	selector, err := StatefulSetSelector(ss)
	if err != nil {
		return err
	}
	b.selector(selector)
	stamps, err := statefulPods(ss, "", 0)
	if err != nil {
		return err
	}
	return b.enqueue(origin, path, stamps...)
}

func (b *Builder) customPods(origin Origin, w *CustomWorkload, p *CustomPods, path *field.Path) error {
	o := owner{w.APIVersion, w.Kind, w.Name, origin.Namespace}
	template := withClaims(&p.Template, p.Claims)
	if !p.Indexed {
		n, err := count(&p.Replicas, path)
		if err != nil {
			return err
		}
		return b.enqueue(origin, path, stamp{pod: o.pod(template, p.Name, p.Labels), count: n, claims: len(p.Claims)})
	}
	n, err := ordinals(&p.Replicas, path)
	if err != nil {
		return err
	}
	var stamps []stamp
	for i := p.First; i < p.First+n; i++ {
		name := fmt.Sprintf("%s-%d", p.Name, i)
		own := map[string]string{}
		if p.IndexLabel != "" {
			own[p.IndexLabel] = fmt.Sprint(i)
		}
		if p.NameLabel != "" {
			own[p.NameLabel] = name
		}
		pod := o.pod(template, name, withLabels(p.Labels, own))
		stamps = append(stamps, stamp{pod: pod, count: 1, claims: len(p.Claims)})
	}
	return b.enqueue(origin, path, stamps...)
}

// noteAdded says of pods that they have more than their template, where that matters: an init container does if it requests more
// than the containers.
func (b *Builder) noteAdded(p *CustomPart, queued []slot) {
	for i := range queued {
		f := &queued[i].facts
		adds := p.Adds
		requests := resourcehelper.PodRequests(defaulted(f.stamp.pod), resourcehelper.PodResourcesOptions{})
		for name, q := range p.Initial {
			if has := requests[name]; has.Cmp(q) < 0 {
				adds = fmt.Sprintf("the controller adds an init container that requests %s of %s", q.String(), name)
			}
		}
		if adds != "" {
			f.stamp.adds = adds
			queued[i].pods.Pod.Unread = append(queued[i].pods.Pod.Unread, &stowagev1.UnreadField{
				Object: f.object.String(), Field: f.path.String(), Consequence: adds,
			})
		}
	}
}

// changedParts says what a change of a custom resource leaves out.
func changedParts(before, after *CustomWorkload) string {
	if equality.Semantic.DeepEqual(before.Parts, after.Parts) {
		return ""
	}
	return "its pods stay as they are: what its controller does about the change is not decided"
}
