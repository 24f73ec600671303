package kube

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Budget is the number of healthy pods that a PodDisruptionBudget asks for.
type Budget struct {
	Namespace, Name string
	// Selector selects its pods, those of its namespace. Of a selector that does not parse it selects nothing.
	Selector labels.Selector
	// Desired is the number of pods that are to be healthy: that of its status, or a minAvailable that is a number. It is nil if
	// the object tells neither.
	Desired *int32
}

// budgetOf returns what a PodDisruptionBudget asks for. The disruption controller computes a percentage of the replicas of its
// workloads (pkg/controller/disruption/disruption.go getExpectedPodCount, v1.37), and states the result.
func budgetOf(p *policyv1.PodDisruptionBudget) Budget {
	out := Budget{Namespace: namespaceOf(p), Name: p.Name, Selector: labels.Nothing()}
	if selector, err := metav1.LabelSelectorAsSelector(p.Spec.Selector); err == nil {
		out.Selector = selector
	}
	switch least := p.Spec.MinAvailable; {
	case p.Status.ObservedGeneration > 0 || p.Status.ExpectedPods > 0:
		out.Desired = new(p.Status.DesiredHealthy)
	case least != nil && least.Type == intstr.Int:
		out.Desired = new(least.IntVal)
	}
	return out
}

// Healthy reports whether a PodDisruptionBudget that selects a pod counts it: it is not terminating and, where its status tells,
// runs and is ready (pkg/controller/disruption/disruption.go countHealthyPods, v1.37).
func Healthy(p *corev1.Pod) bool { return p.DeletionTimestamp == nil && !notReady(p) }

// Selects reports whether a PodDisruptionBudget selects a pod of its namespace.
func (b *Budget) Selects(p *corev1.Pod) bool {
	return namespaceOf(p) == b.Namespace && b.Selector.Matches(labels.Set(p.Labels))
}
