package kube

import (
	"slices"

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
	uid      types.UID
	selector *metav1.LabelSelector
}

func (w *withPods) pod(p *corev1.Pod) {
	w.pods[namespaceOf(p)] = append(w.pods[namespaceOf(p)], p.Labels)
	for _, o := range p.OwnerReferences {
		w.owned[o.UID] = true
	}
}

func (w *withPods) workload(origin Origin, o metav1.Object, replicas *int32, selector *metav1.LabelSelector) {
	w.owners[o.GetUID()] = o.GetOwnerReferences()
	if replicas == nil || *replicas > 0 {
		w.workloads = append(w.workloads, workload{origin, o.GetUID(), selector})
	}
}

// podless returns the workloads that own no pod, not through another workload either, and that select none.
func (w *withPods) podless() []Origin {
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
