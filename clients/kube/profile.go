package kube

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// NodeAffinity converts node affinity that is not part of a pod, such as NodeAffinityArgs.addedAffinity.
func NodeAffinity(a *corev1.NodeAffinity, path *field.Path) (*stowagev1.NodeAffinity, field.ErrorList) {
	c := &converter{}
	return c.nodeAffinity(a, path), c.errs
}

// SpreadConstraints converts spread constraints that are not part of a pod, such as PodTopologySpreadArgs.defaultConstraints.
func SpreadConstraints(all []corev1.TopologySpreadConstraint, path *field.Path) ([]*stowagev1.TopologySpreadConstraint, field.ErrorList) {
	c := &converter{}
	return c.spread(all, path), c.errs
}
