package kube

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// withPods are the existing workloads with replicas, and what leads from the pods that were added to their workloads.
type withPods struct {
	workloads []workload
	pods      map[string][]labels.Set // the labels of pods, by namespace
	owned     map[types.UID]bool      // owners of pods
	owners    map[types.UID][]metav1.OwnerReference
}

type workload struct {
	Origin
	uid       types.UID
	selector  *metav1.LabelSelector
	daemonSet *appsv1.DaemonSet // whose status does not tell its pods
}

func (w *withPods) pod(p *corev1.Pod) {
	w.pods[namespaceOf(p)] = append(w.pods[namespaceOf(p)], p.Labels)
	for _, o := range p.OwnerReferences {
		w.owned[o.UID] = true
	}
}

// workload records an existing workload. replicas are those that it states, which its status may say that it does not have.
func (w *withPods) workload(origin Origin, o metav1.Object, replicas *int32, selector *metav1.LabelSelector) {
	w.owners[o.GetUID()] = o.GetOwnerReferences()
	of := workload{Origin: origin, uid: o.GetUID(), selector: selector}
	n := replicasOf(replicas)
	switch o := o.(type) {
	case *appsv1.Deployment:
		n = created(o.Spec.Replicas, o.Status.ObservedGeneration, o.Status.Replicas)
	case *appsv1.ReplicaSet:
		n = created(o.Spec.Replicas, o.Status.ObservedGeneration, o.Status.Replicas)
	case *appsv1.StatefulSet:
		n = created(o.Spec.Replicas, o.Status.ObservedGeneration, o.Status.Replicas)
	case *corev1.ReplicationController:
		n = created(o.Spec.Replicas, o.Status.ObservedGeneration, o.Status.Replicas)
	case *appsv1.DaemonSet:
		if n = created(nil, o.Status.ObservedGeneration, o.Status.CurrentNumberScheduled); o.Status.ObservedGeneration == 0 {
			of.daemonSet = o
		}
	}
	if n > 0 {
		w.workloads = append(w.workloads, of)
	}
}

// created returns the number of pods that a controller created, by its status if it wrote one.
func created(replicas *int32, observed int64, pods int32) int32 {
	if observed > 0 {
		return min(replicasOf(replicas), pods)
	}
	return replicasOf(replicas)
}

// podless returns the workloads that own no pod, not through another workload either, and that select none.
func (w *withPods) podless(nodes []*corev1.Node) []Origin {
	for uid, owners := range w.owners {
		for _, o := range owners {
			w.owned[o.UID] = w.owned[o.UID] || w.owned[uid]
		}
	}
	var out []Origin
	for _, of := range w.workloads {
		if w.owned[of.uid] {
			continue
		}
		if of.daemonSet != nil {
			if pods, err := daemonPods(of.daemonSet, nodes); err == nil && len(pods) == 0 {
				continue
			}
		}
		selector, err := metav1.LabelSelectorAsSelector(of.selector)
		if err != nil {
			selector = labels.Nothing()
		}
		if !slices.ContainsFunc(w.pods[of.Namespace], func(l labels.Set) bool { return selector.Matches(l) }) {
			out = append(out, of.Origin)
		}
	}
	return out
}
