package controller

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
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
	// Path is the path of the template in the custom resource; of a Job, the path of its spec.
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
	// Labels are added to the template's.
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
	// Claims are the claim templates, whose volumes precede the template's.
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

// Replicas is the approximate number of pods.
func (w *CustomWorkload) Replicas() *int32 {
	total := int32(0)
	if w.Ended {
		return &total
	}
	add := func(n *int32) { total += min(Replicas(n), MaximumOrdinals) }
	for i := range w.Parts {
		switch p := &w.Parts[i]; {
		case p.ReplicaSet != nil:
			add(p.ReplicaSet.Replicas)
		case p.StatefulSet != nil:
			add(p.StatefulSet.Spec.Replicas)
		case p.Job != nil:
			add(Parallelism(p.Job))
		default:
			add(&p.Pods.Replicas)
		}
	}
	return &total
}

// Stamps returns the pods of a custom resource; path is the path of their template's spec.
func (p *CustomPods) Stamps(o Owner, path *field.Path) ([]Stamp, error) {
	template := WithClaims(&p.Template, p.Claims)
	if !p.Indexed {
		n, err := Count(&p.Replicas, path)
		return []Stamp{{Pod: o.Pod(template, p.Name, p.Labels), Count: n, Claims: p.Claims}}, err
	}
	n, err := Ordinals(&p.Replicas, template, path)
	if err != nil {
		return nil, err
	}
	var stamps []Stamp
	for i := p.First; i < p.First+n; i++ {
		name := fmt.Sprintf("%s-%d", p.Name, i)
		own := map[string]string{}
		if p.IndexLabel != "" {
			own[p.IndexLabel] = fmt.Sprint(i)
		}
		if p.NameLabel != "" {
			own[p.NameLabel] = name
		}
		stamps = append(stamps, Stamp{Pod: o.Pod(template, name, WithLabels(p.Labels, own)), Count: 1, Claims: p.Claims, Named: true})
	}
	return stamps, nil
}
