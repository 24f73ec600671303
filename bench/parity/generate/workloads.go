package generate

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workloads draws what selects pods for default spreading, and makes pods belong to it. Only the selectors of these
// objects are drawn, as nothing else of them is read.
func (d *draw) workloads() {
	if !d.has(defaultSpread) {
		return
	}
	for range d.IntN(3) {
		s := &corev1.Service{ObjectMeta: d.workloadMeta("service")}
		if d.chance(0.9) {
			s.Spec.Selector = d.labelSet()
		}
		d.c.Services = append(d.c.Services, s)
	}
	for range d.IntN(2) {
		rc := &corev1.ReplicationController{ObjectMeta: d.workloadMeta("rc")}
		if d.chance(0.9) {
			rc.Spec.Selector = d.labelSet()
		}
		d.c.ReplicationControllers = append(d.c.ReplicationControllers, rc)
		d.own("v1", "ReplicationController", rc)
	}
	for range d.IntN(3) {
		rs := &appsv1.ReplicaSet{ObjectMeta: d.workloadMeta("rs"), Spec: appsv1.ReplicaSetSpec{Selector: d.workloadSelector()}}
		d.c.ReplicaSets = append(d.c.ReplicaSets, rs)
		d.own("apps/v1", "ReplicaSet", rs)
	}
	for range d.IntN(2) {
		ss := &appsv1.StatefulSet{ObjectMeta: d.workloadMeta("ss"), Spec: appsv1.StatefulSetSpec{Selector: d.workloadSelector()}}
		d.c.StatefulSets = append(d.c.StatefulSets, ss)
		d.own("apps/v1", "StatefulSet", ss)
	}
	if d.chance(0.2) {
		// An owner that is not in the case, or of a kind that does not count.
		d.own(pick(d, "apps/v1", "batch/v1", "example.com/v1"), pick(d, "ReplicaSet", "Job"),
			&metav1.ObjectMeta{Namespace: "default", Name: "unknown"})
	}
}

func (d *draw) workloadMeta(prefix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: d.name(prefix), Namespace: d.podNamespace()}
}

func (d *draw) labelSet() map[string]string {
	set := map[string]string{}
	for _, key := range some(d, 0.5, podLabelKeys...) {
		set[key] = pick(d, podLabelValues[key]...)
	}
	return set
}

func (d *draw) workloadSelector() *metav1.LabelSelector {
	if s := d.podSelector(); s != nil {
		return s
	}
	return &metav1.LabelSelector{MatchLabels: d.labelSet()}
}

// own makes pods of the workload's namespace belong to it, often enough that pending pods do.
func (d *draw) own(apiVersion, kind string, owner metav1.Object) {
	reference := metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: "uid", Controller: ptr(d.chance(0.9))}
	give := func(pod *corev1.Pod) {
		if pod.Namespace == owner.GetNamespace() && pod.OwnerReferences == nil {
			pod.OwnerReferences = []metav1.OwnerReference{reference}
		}
	}
	for _, q := range d.c.Queue {
		if d.chance(0.5) {
			give(q.Pod)
		}
	}
	for _, pods := range [][]*corev1.Pod{d.c.Pods, d.c.Nominated} {
		for _, pod := range pods {
			if d.chance(0.2) {
				give(pod)
			}
		}
	}
}
