package kube

import (
	"fmt"
	"maps"

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
	owned     map[types.UID]int       // numbers of pods, by their owners
	owners    map[types.UID][]metav1.OwnerReference
}

type workload struct {
	Origin
	uid       types.UID
	selector  *metav1.LabelSelector
	pods      int32 // that it has
	counted   bool  // pods is what its controller counted
	daemonSet *appsv1.DaemonSet
}

func (w *withPods) pod(p *corev1.Pod) {
	w.pods[namespaceOf(p)] = append(w.pods[namespaceOf(p)], p.Labels)
	for _, o := range p.OwnerReferences {
		w.owned[o.UID]++
	}
}

// workload records an existing workload. replicas are those that it states, which its status may say that it does not have.
func (w *withPods) workload(origin Origin, o metav1.Object, replicas *int32, selector *metav1.LabelSelector) {
	w.owners[o.GetUID()] = o.GetOwnerReferences()
	of := workload{Origin: origin, uid: o.GetUID(), selector: selector}
	of.pods = replicasOf(replicas)
	switch o := o.(type) {
	case *appsv1.Deployment:
		of.created(o.Spec.Replicas, o.Status.ObservedGeneration, o.Status.Replicas)
	case *appsv1.ReplicaSet:
		of.created(o.Spec.Replicas, o.Status.ObservedGeneration, o.Status.Replicas)
	case *appsv1.StatefulSet:
		of.created(o.Spec.Replicas, o.Status.ObservedGeneration, o.Status.Replicas)
	case *corev1.ReplicationController:
		of.created(o.Spec.Replicas, o.Status.ObservedGeneration, o.Status.Replicas)
	case *appsv1.DaemonSet:
		of.daemonSet = o
		of.created(&o.Status.CurrentNumberScheduled, o.Status.ObservedGeneration, o.Status.CurrentNumberScheduled)
		if !of.counted {
			of.pods = 1 // on some node
		}
	}
	if of.pods > 0 {
		w.workloads = append(w.workloads, of)
	}
}

// created sets the number of pods, by the controller's status if it wrote one.
func (w *workload) created(replicas *int32, observed int64, pods int32) {
	if w.pods = replicasOf(replicas); observed > 0 {
		w.pods, w.counted = min(w.pods, pods), true
	}
}

// Incomplete is a workload with a number of pods, and how many of them were not added.
type Incomplete struct {
	Origin
	Missing, Pods int
}

func (i Incomplete) String() string {
	if i.Missing == i.Pods {
		return i.Origin.String()
	}
	return fmt.Sprintf("%v (%d of %d)", i.Origin, i.Missing, i.Pods)
}

// incomplete returns the workloads that own no pod, not through another workload either, and that select none; and those that own
// or select fewer than their controllers counted.
func (w *withPods) incomplete(nodes []*corev1.Node) []Incomplete {
	owned := maps.Clone(w.owned)
	for uid, n := range w.owned {
		w.addAbove(owned, uid, n, maximumOwners)
	}
	var out []Incomplete
	for _, of := range w.workloads {
		there := owned[of.uid]
		if there == 0 {
			selector, err := metav1.LabelSelectorAsSelector(of.selector)
			if err != nil {
				selector = labels.Nothing()
			}
			for _, l := range w.pods[of.Namespace] {
				if selector.Matches(l) {
					there++
				}
			}
		}
		if of.daemonSet != nil && !of.counted && there == 0 {
			if pods, err := daemonPods(of.daemonSet, nodes); err == nil && len(pods) == 0 {
				continue
			}
		}
		if there == 0 || of.counted && there < int(of.pods) {
			out = append(out, Incomplete{of.Origin, int(of.pods) - there, int(of.pods)})
		}
	}
	return out
}

// addAbove adds a number of pods to those of the owners of an object, and of theirs.
func (w *withPods) addAbove(owned map[types.UID]int, uid types.UID, n, most int) {
	if most == 0 {
		return
	}
	for _, o := range w.owners[uid] {
		owned[o.UID] += n
		w.addAbove(owned, o.UID, n, most-1)
	}
}
