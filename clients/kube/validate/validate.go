// Package validate finds what the API server refuses of the fields that package kube reads, with the API server's words
// (k8s.io/kubernetes pkg/apis/core/validation and pkg/apis/apps/validation, v1.37). It is for objects that no API server has accepted.
//
// Values of label selectors and of node affinity are not checked: kube-scheduler meets those that do not parse, and the engine
// decides as it does.
package validate

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object returns what the API server refuses of an object. Objects without pods are valid.
func Object(o metav1.Object) field.ErrorList {
	spec := field.NewPath("spec")
	template := spec.Child("template")
	switch o := o.(type) {
	case *corev1.Pod:
		return podSpec(&o.Spec, spec)
	case *appsv1.Deployment:
		return append(selected(o.Spec.Selector, spec), workload(o.Spec.Selector, &o.Spec.Template, spec)...)
	case *appsv1.ReplicaSet:
		return append(selected(o.Spec.Selector, spec), workload(o.Spec.Selector, &o.Spec.Template, spec)...)
	case *appsv1.StatefulSet:
		return append(selected(o.Spec.Selector, spec), workload(o.Spec.Selector, &o.Spec.Template, spec)...)
	case *appsv1.DaemonSet:
		return workload(o.Spec.Selector, &o.Spec.Template, spec)
	case *corev1.ReplicationController:
		return controller(o, template)
	case *batchv1.Job:
		return podSpec(&o.Spec.Template.Spec, template.Child("spec"))
	case *batchv1.CronJob:
		return podSpec(&o.Spec.JobTemplate.Spec.Template.Spec, spec.Child("jobTemplate", "spec", "template", "spec"))
	}
	return nil
}

// selected refuses an absent selector. Of a DaemonSet the API server refuses the labels of the template then
// (ValidateDaemonSetSpec): no selector selects nothing.
func selected(selector *metav1.LabelSelector, spec *field.Path) field.ErrorList {
	if selector == nil {
		return field.ErrorList{field.Required(spec.Child("selector"), "")}
	}
	return nil
}

// workload checks the selector of a workload and its template (ValidateDeploymentSpec, ValidatePodTemplateSpecForReplicaSet).
func workload(selector *metav1.LabelSelector, t *corev1.PodTemplateSpec, spec *field.Path) field.ErrorList {
	out := podSpec(&t.Spec, spec.Child("template", "spec"))
	if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return append(out, field.Invalid(spec.Child("selector"), "{}", "empty selector is invalid"))
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return append(out, field.Invalid(spec.Child("selector"), metav1.FormatLabelSelector(selector), "invalid label selector"))
	}
	return append(out, unmatched(parsed, t, spec.Child("template"))...)
}

// controller checks a ReplicationController, whose selector defaults to the labels of its template.
func controller(o *corev1.ReplicationController, template *field.Path) field.ErrorList {
	if o.Spec.Template == nil {
		return nil
	}
	return append(podSpec(&o.Spec.Template.Spec, template.Child("spec")),
		unmatched(labels.SelectorFromSet(o.Spec.Selector), o.Spec.Template, template)...)
}

// unmatched refuses a template that its workload does not select: the controller would create pods without end.
func unmatched(selector labels.Selector, t *corev1.PodTemplateSpec, template *field.Path) field.ErrorList {
	if selector.Matches(labels.Set(t.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(template.Child("metadata", "labels"), labels.FormatLabels(t.Labels),
		"`selector` does not match template `labels`")}
}
