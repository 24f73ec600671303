package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsApplied reports whether people apply manifests to objects of the kind, so that it matters who manages which field. Controllers and
// kubelets write the others; the managers of their fields are most of a dump.
func IsApplied(o metav1.Object) bool {
	switch o.(type) {
	case *corev1.Pod, *corev1.Node, *appsv1.ReplicaSet:
		return false
	}
	return true
}
