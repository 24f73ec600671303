package kube

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/controller"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
)

// workloadSet is the workloads, and what leads from the pods that were added to their workloads.
type workloadSet struct {
	Workloads
	unselected  []Origin // workloads without a selector
	scalables   []Scalable
	daemonSets  []*appsv1.DaemonSet
	replicaSets []*appsv1.ReplicaSet // of Deployments
	deployments map[Origin]*appsv1.Deployment
	populated   []workload              // existing workloads with pods
	labels      map[string][]labels.Set // of pods, by namespace
	owned       map[types.UID]int       // numbers of pods, by their owners
	owners      object.Owners
}

func newWorkloadSet() workloadSet {
	return workloadSet{
		deployments: map[Origin]*appsv1.Deployment{}, labels: map[string][]labels.Set{}, owned: map[types.UID]int{}, owners: object.Owners{},
	}
}

type workload struct {
	Origin
	uid       types.UID
	selector  *metav1.LabelSelector
	pods      int32 // that it has
	counted   bool  // pods is what its controller counted
	daemonSet *appsv1.DaemonSet
}

// pod records a pod.
func (w *workloadSet) pod(p *corev1.Pod) {
	w.labels[object.Namespace(p)] = append(w.labels[object.Namespace(p)], p.Labels)
	for _, o := range p.OwnerReferences {
		w.owned[o.UID]++
	}
}

// workload records an existing workload. replicas are the ones in its spec; its status may report fewer.
func (w *workloadSet) workload(origin Origin, o metav1.Object, replicas *int32, selector *metav1.LabelSelector) {
	w.owners[o.GetUID()] = o.GetOwnerReferences()
	of := workload{Origin: origin, uid: o.GetUID(), selector: selector}
	of.pods = controller.Replicas(replicas)
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
		w.populated = append(w.populated, of)
	}
}

// created sets the number of pods, by the controller's status if it wrote one.
func (w *workload) created(replicas *int32, observed int64, pods int32) {
	if w.pods = controller.Replicas(replicas); observed > 0 {
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

// incomplete returns the workloads that own no pod, not through another workload either, and that select none; and workloads that
// own or select fewer than their controllers counted.
func (w *workloadSet) incomplete(nodes []*corev1.Node) []Incomplete {
	owned := maps.Clone(w.owned)
	for uid, n := range w.owned {
		w.addAbove(owned, uid, n, object.MaximumOwners)
	}
	var out []Incomplete
	for _, of := range w.populated {
		there := owned[of.uid]
		if there == 0 {
			selector, err := metav1.LabelSelectorAsSelector(of.selector)
			if err != nil {
				selector = labels.Nothing()
			}
			for _, l := range w.labels[of.Namespace] {
				if selector.Matches(l) {
					there++
				}
			}
		}
		if of.daemonSet != nil && !of.counted && there == 0 {
			if pods, err := controller.DaemonPods(of.daemonSet, nodes); err == nil && len(pods) == 0 {
				continue
			}
		}
		if there == 0 || of.counted && there < int(of.pods) {
			out = append(out, Incomplete{of.Origin, int(of.pods) - there, int(of.pods)})
		}
	}
	return out
}

// addAbove adds a number of pods to the owners of an object, and to their owners.
func (w *workloadSet) addAbove(owned map[types.UID]int, uid types.UID, n, most int) {
	if most == 0 {
		return
	}
	for _, o := range w.owners[uid] {
		owned[o.UID] += n
		w.addAbove(owned, o.UID, n, most-1)
	}
}
