package generate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// inScenarios makes some cases have a whole kube-scheduler's queue, and others be about what else placing depends on.
func (d *draw) inScenarios() {
	switch x := d.Float64(); {
	case x < 0.35:
		d.likelihood[queueing] = 1
	case x < 0.5:
		d.likelihood[nomination] = 0.9
	case x < 0.6:
		d.likelihood[images] = 0.9
	case x < 0.7:
		d.likelihood[spread] = 0.9
	case x < 0.8:
		d.likelihood[podAffinity] = 0.9
	}
}

// controlled gives pods on nodes controllers of several kinds.
func (d *draw) controlled(pods []*corev1.Pod) {
	for _, pod := range pods {
		if pod.OwnerReferences != nil {
			continue
		}
		o := metav1.OwnerReference{Name: "owner", UID: "uid", Controller: ptr(true)}
		switch x := d.Float64(); {
		case x < 0.7:
			o.APIVersion, o.Kind = pick(d, "apps/v1", "batch/v1"), pick(d, "ReplicaSet", "StatefulSet", "Job")
		case x < 0.8:
			o.APIVersion, o.Kind = "apps/v1", "DaemonSet"
		case x < 0.85:
			o.APIVersion, o.Kind = "v1", "Node"
			if d.chance(0.8) {
				metav1.SetMetaDataAnnotation(&pod.ObjectMeta, corev1.MirrorPodAnnotationKey, "x")
			}
		default:
			continue
		}
		pod.OwnerReferences = []metav1.OwnerReference{o}
	}
}

// scenarios draws what happens to the cluster.
func (d *draw) scenarios() {
	if len(d.c.Nodes) == 0 {
		return
	}
	d.controlled(d.c.Pods)
	if d.chance(0.3) {
		d.Shuffle(len(d.c.Pods), func(i, j int) { d.c.Pods[i], d.c.Pods[j] = d.c.Pods[j], d.c.Pods[i] })
	}
	if d.chance(0.4) {
		d.drain()
		return
	}
	for range d.between(1, 3) {
		d.c.WhatIf = append(d.c.WhatIf, d.scenario())
	}
}

func (d *draw) scenario() scenario.WhatIf {
	w := scenario.WhatIf{
		Terminating: d.chance(0.35), Requeue: d.chance(0.75), Stop: !d.c.Whole && !d.c.Grouped() && d.chance(0.2),
	}
	if d.chance(0.35) {
		w.Delta = d.delta()
	}
	after := d.c.After(&w, scenario.Named)
	for _, n := range after.Nodes {
		if d.chance(0.2) {
			w.Cordoned = append(w.Cordoned, n.Name)
		}
		e := scenario.Evictions{Node: n.Name}
		switch x := d.Float64(); {
		case x < 0.2:
			e.Drained = true
		case x < 0.45:
			for _, p := range after.Pods {
				if p.Spec.NodeName == n.Name && d.chance(0.6) {
					e.Pods = append(e.Pods, scenario.PodName(p))
				}
			}
			d.Shuffle(len(e.Pods), func(i, j int) { e.Pods[i], e.Pods[j] = e.Pods[j], e.Pods[i] })
		}
		if e.Drained || e.Pods != nil {
			w.Evictions = append(w.Evictions, e)
		}
		if d.chance(0.15) || e.Drained && d.chance(0.4) {
			w.Removed = append(w.Removed, n.Name)
		}
	}
	for _, list := range [][]string{w.Cordoned, w.Removed} {
		d.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	d.Shuffle(len(w.Evictions), func(i, j int) { w.Evictions[i], w.Evictions[j] = w.Evictions[j], w.Evictions[i] })
	if len(w.Removed) == len(after.Nodes) {
		w.Removed = w.Removed[1:] // a whole kube-scheduler has nodes
	}
	for i := range d.c.Queue {
		if d.chance(0.7) {
			w.Queue = append(w.Queue, i)
		}
	}
	if d.chance(0.3) {
		d.Shuffle(len(w.Queue), func(i, j int) { w.Queue[i], w.Queue[j] = w.Queue[j], w.Queue[i] })
	}
	return w
}

func (d *draw) delta() scenario.Delta {
	var out scenario.Delta
	left := slices.Clone(d.c.Nodes)
	if len(left) > 1 && d.chance(0.3) {
		i := d.IntN(len(left))
		out.RemovedNodes = []string{left[i].Name}
		left = slices.Delete(left, i, i+1)
	}
	if d.chance(0.5) {
		n := d.node(len(d.c.Nodes))
		out.Nodes, left = append(out.Nodes, n), append(left, n)
	}
	n := pick(d, left...).DeepCopy()
	fresh := slices.ContainsFunc(out.Nodes, func(o *corev1.Node) bool { return o.Name == n.Name })
	if d.chance(0.3) && !fresh {
		n.Spec.Taints = nil
		d.taint(n)
		out.Nodes = append(out.Nodes, n)
	}
	for _, p := range d.c.Pods {
		if d.chance(0.1) && !slices.Contains(out.RemovedNodes, p.Spec.NodeName) {
			out.RemovedPods = append(out.RemovedPods, scenario.PodName(p))
		}
	}
	for range d.IntN(4) {
		pod := d.pod(onNode)
		pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Image == nil && v.EmptyDir == nil })
		pod.Name, pod.Spec.NodeName = d.name("added"), pick(d, left...).Name
		pod.Status.StartTime = &metav1.Time{Time: epoch.Add(time.Duration(20_000+d.names) * time.Second)}
		if d.chance(0.08) {
			d.terminate(pod)
		}
		out.Pods = append(out.Pods, pod)
	}
	d.controlled(out.Pods)
	d.deltaBesides(&out)
	return out
}

// deltaBesides draws differences of what is not on nodes: namespaces, Services and PodDisruptionBudgets.
func (d *draw) deltaBesides(out *scenario.Delta) {
	before := *d.c
	for _, n := range d.c.Namespaces {
		if d.chance(0.06) {
			out.RemovedNamespaces = append(out.RemovedNamespaces, n.Name)
		}
	}
	if d.chance(0.25) {
		d.c.Namespaces = nil
		d.namespaces()
		out.Namespaces = slices.DeleteFunc(d.c.Namespaces, func(n *corev1.Namespace) bool {
			return slices.Contains(out.RemovedNamespaces, n.Name) || d.chance(0.5)
		})
	}
	for _, s := range before.Services {
		if d.chance(0.15) {
			out.RemovedServices = append(out.RemovedServices, scenario.Name(s))
		} else if d.chance(0.2) {
			s = s.DeepCopy()
			s.Spec.Selector = d.labelSet()
			out.Services = append(out.Services, s)
		}
	}
	if d.has(defaultSpread) {
		s := &corev1.Service{ObjectMeta: d.workloadMeta("service")}
		s.Spec.Selector = d.labelSet()
		out.Services = append(out.Services, s)
	}
	for _, b := range before.PodDisruptionBudgets {
		if d.chance(0.15) {
			out.RemovedBudgets = append(out.RemovedBudgets, scenario.Name(b))
		} else if d.chance(0.2) {
			b = b.DeepCopy()
			b.Status.DisruptionsAllowed = int32(d.IntN(3))
			out.Budgets = append(out.Budgets, b)
		}
	}
	if d.c.Whole && d.chance(0.3) {
		d.c.PodDisruptionBudgets = nil
		d.budget()
		out.Budgets = append(out.Budgets, d.c.PodDisruptionBudgets...)
	}
	d.c.Namespaces, d.c.PodDisruptionBudgets = before.Namespaces, before.PodDisruptionBudgets
}
