package kube

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ServiceSelector converts a Service's selector.
func ServiceSelector(s *corev1.Service) *stowagev1.WorkloadSelector {
	return mapSelector(stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE, s, s.Spec.Selector)
}

// ReplicationControllerSelector converts a ReplicationController's selector, which defaults to its template's labels.
func ReplicationControllerSelector(rc *corev1.ReplicationController) *stowagev1.WorkloadSelector {
	selector := rc.Spec.Selector
	if len(selector) == 0 && rc.Spec.Template != nil {
		selector = rc.Spec.Template.Labels
	}
	return mapSelector(stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICATION_CONTROLLER, rc, selector)
}

// ReplicaSetSelector converts a ReplicaSet's selector.
func ReplicaSetSelector(rs *appsv1.ReplicaSet) (*stowagev1.WorkloadSelector, error) {
	return labelSelectorOf(stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICA_SET, rs, rs.Spec.Selector)
}

// StatefulSetSelector converts a StatefulSet's selector.
func StatefulSetSelector(ss *appsv1.StatefulSet) (*stowagev1.WorkloadSelector, error) {
	return labelSelectorOf(stowagev1.WorkloadKind_WORKLOAD_KIND_STATEFUL_SET, ss, ss.Spec.Selector)
}

func mapSelector(kind stowagev1.WorkloadKind, o metav1.Object, selector map[string]string) *stowagev1.WorkloadSelector {
	out := &stowagev1.WorkloadSelector{Kind: kind, Namespace: namespaceOf(o), Name: o.GetName()}
	// A nil selector selects nothing, where an empty one selects everything.
	if selector != nil {
		out.Selector = &stowagev1.LabelSelector{MatchLabels: maps.Clone(selector)}
	}
	return out
}

func labelSelectorOf(kind stowagev1.WorkloadKind, o metav1.Object, selector *metav1.LabelSelector) (*stowagev1.WorkloadSelector, error) {
	c := &converter{}
	return &stowagev1.WorkloadSelector{
		Kind:      kind,
		Namespace: namespaceOf(o),
		Name:      o.GetName(),
		Selector:  c.labelSelector(selector, field.NewPath("spec", "selector")),
	}, c.err()
}
