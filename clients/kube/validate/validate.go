// Package validate finds what the API server refuses of the fields that decisions read, with the API server's paths
// (k8s.io/kubernetes pkg/apis/{core,apps,batch,policy,scheduling,storage}/validation, v1.37). It is for objects that no API server has accepted. bench/parity
// compares it with the API server's own code.
package validate

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Object returns what the API server refuses of an object. Objects of other kinds are valid.
func Object(o metav1.Object) field.ErrorList {
	spec := field.NewPath("spec")
	switch o := o.(type) {
	case *corev1.Pod:
		s := o.Spec
		s.Containers, s.InitContainers = requesting(s.Containers), requesting(s.InitContainers)
		return slices.Concat(labels(o.Labels, field.NewPath("metadata", "labels")), podSpec(&s, spec),
			restarts(o.Spec.RestartPolicy, spec.Child("restartPolicy"), corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever))
	case *appsv1.Deployment:
		return slices.Concat(count(o.Spec.Replicas, spec.Child("replicas")), workload(o.Spec.Selector, &o.Spec.Template, spec),
			deploymentStrategy(&o.Spec.Strategy, spec.Child("strategy")))
	case *appsv1.ReplicaSet:
		return append(count(o.Spec.Replicas, spec.Child("replicas")), workload(o.Spec.Selector, &o.Spec.Template, spec)...)
	case *appsv1.StatefulSet:
		return append(statefulSet(&o.Spec, spec), workload(o.Spec.Selector, &o.Spec.Template, spec)...)
	case *appsv1.DaemonSet:
		return append(selected(o.Spec.Selector, &o.Spec.Template, spec), daemonStrategy(&o.Spec.UpdateStrategy, spec.Child("updateStrategy"))...)
	case *corev1.ReplicationController:
		return append(count(o.Spec.Replicas, spec.Child("replicas")), controller(o, spec)...)
	case *batchv1.Job:
		s := o.Spec
		if s.Completions == nil && s.Parallelism == nil {
			s.Completions = new(int32(1)) // SetDefaults_Job; the template of a CronJob has no defaults
		}
		return job(&s, spec)
	case *batchv1.CronJob:
		return job(&o.Spec.JobTemplate.Spec, spec.Child("jobTemplate", "spec"))
	case *corev1.Node:
		return node(o)
	case *policyv1.PodDisruptionBudget:
		return budget(&o.Spec, spec)
	case *schedulingv1.PriorityClass:
		return priorityClass(o)
	}
	return storage(o)
}

// count refuses a negative number (ValidateNonnegativeField).
func count(of *int32, at *field.Path) field.ErrorList {
	if of == nil || *of >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(at, *of, "must be greater than or equal to 0")}
}

// job checks the spec of a Job (ValidateJobSpec). The restart policy has no default that a Job may have.
func job(s *batchv1.JobSpec, spec *field.Path) field.ErrorList {
	at := spec.Child("template")
	out := slices.Concat(count(s.Parallelism, spec.Child("parallelism")), count(s.Completions, spec.Child("completions")), template(&s.Template, at))
	if s.CompletionMode != nil {
		out = append(out, oneOf(spec.Child("completionMode"), *s.CompletionMode, batchv1.NonIndexedCompletion, batchv1.IndexedCompletion)...)
		if *s.CompletionMode == batchv1.IndexedCompletion && s.Completions == nil {
			out = append(out, field.Required(spec.Child("completions"), "when completion mode is Indexed"))
		}
	}
	restart := at.Child("spec", "restartPolicy")
	if policy := s.Template.Spec.RestartPolicy; policy != "" {
		return append(out, oneOf(restart, policy, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)...)
	}
	return append(out, field.Required(restart, `valid values: "OnFailure", "Never"`))
}

// template checks a pod template (ValidatePodTemplateSpec).
func template(t *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	return append(labels(t.Labels, path.Child("labels")), podSpec(&t.Spec, path.Child("spec"))...)
}

// kept checks the template of pods that a workload keeps running: each restarts (ValidatePodTemplateSpecForReplicaSet).
func kept(t *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	return append(template(t, path), restarts(t.Spec.RestartPolicy, path.Child("spec", "restartPolicy"), corev1.RestartPolicyAlways)...)
}

// restarts checks a restart policy, which defaults to Always.
func restarts(policy corev1.RestartPolicy, at *field.Path, supported ...corev1.RestartPolicy) field.ErrorList {
	if policy == "" {
		return nil
	}
	return oneOf(at, policy, supported...)
}

// workload checks the selector of a workload and its template (ValidateDeploymentSpec, ValidatePodTemplateSpecForReplicaSet).
func workload(s *metav1.LabelSelector, t *corev1.PodTemplateSpec, spec *field.Path) field.ErrorList {
	at := spec.Child("selector")
	if s == nil {
		return slices.Concat(field.ErrorList{field.Required(at, "")}, selected(s, t, spec))
	}
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		return append(selector(s, at), field.Invalid(at, metav1.FormatLabelSelector(s), "invalid label selector"))
	}
	return selected(s, t, spec)
}

// selected checks a selector and the template that it has to select (ValidateDaemonSetSpec). No selector selects nothing.
func selected(s *metav1.LabelSelector, t *corev1.PodTemplateSpec, spec *field.Path) field.ErrorList {
	at := spec.Child("selector")
	out := append(selector(s, at), kept(t, spec.Child("template"))...)
	if s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return append(out, field.Invalid(at, "{}", "empty selector is invalid"))
	}
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return out
	}
	return append(out, unmatched(parsed, t, spec.Child("template"))...)
}

// controller checks a ReplicationController, whose selector defaults to the labels of its template.
func controller(o *corev1.ReplicationController, spec *field.Path) field.ErrorList {
	if o.Spec.Template == nil {
		return nil
	}
	at := spec.Child("template")
	return append(kept(o.Spec.Template, at), unmatched(kubelabels.SelectorFromSet(o.Spec.Selector), o.Spec.Template, at)...)
}

// unmatched refuses a template that its workload does not select: the controller would create pods without end.
func unmatched(s kubelabels.Selector, t *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if s.Matches(kubelabels.Set(t.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("metadata", "labels"), kubelabels.FormatLabels(t.Labels),
		"`selector` does not match template `labels`")}
}
