package generate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// disruptions draws what preemption by groups depends on: priorities and start times of the pods on nodes, pod groups that run,
// budgets, and full nodes.
func (d *draw) disruptions() {
	levels := d.levels()
	for i, pod := range d.c.Pods {
		own := pod.Spec.Priority
		d.victim(pod, i, levels)
		if pod.Spec.SchedulingGroup != nil {
			pod.Spec.Priority = own
		}
	}
	whole := false
	for range pick(d, 0, 1, 1, 2, 3) {
		whole = d.runs(levels) || whole
	}
	for _, g := range d.c.PodGroups {
		whole = d.mode(g) || whole
	}
	d.budgets(whole)
	for i := range d.c.Queue {
		pod := d.c.Queue[i].Pod
		if pod.Spec.SchedulingGroup == nil {
			pod.Spec.Priority = pick(d, levels...)
			continue
		}
		if d.chance(0.5) {
			d.askFor(pod, "500m", "1", "2", "3")
		}
		if len(d.c.Pods) > 0 {
			beside := pick(d, d.c.Pods...)
			if d.chance(0.08) {
				d.repel(pod, beside)
			}
			if d.chance(0.08) {
				d.repel(beside, pod)
			}
			if d.chance(0.05) {
				d.attract(pod, beside)
			}
		}
		if pod.Spec.TopologySpreadConstraints == nil && d.chance(0.15) {
			d.evenly(pod)
		}
	}
	d.reluctant()
	for _, n := range d.c.Nodes {
		if d.chance(0.6) {
			d.full(n)
		}
	}
}

// starts gives the pods different start times: kube-scheduler's sort is not stable. A pod without a start time starts when
// kube-scheduler compares it.
func (d *draw) starts() {
	for i, pod := range d.c.Pods {
		pod.Status.StartTime = nil
		if i > 0 || d.chance(0.5) {
			pod.Status.StartTime = &metav1.Time{Time: epoch.Add(time.Duration(1000+i*7919%1009) * time.Second)}
		}
	}
}

// runs draws a group with pods on nodes only, and reports whether its pods are evicted together.
func (d *draw) runs(levels []*int32) bool {
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: d.name("runs"), Namespace: d.podNamespace()}}
	g.Spec.Priority = pick(d, levels...)
	d.policy(g, 1)
	whole := d.mode(g)
	n := 0
	for range d.between(1, 5) {
		if len(d.c.Pods) == 0 {
			break
		}
		pod := pick(d, d.c.Pods...)
		if pod.Spec.SchedulingGroup != nil {
			continue
		}
		was := pod.Spec.Priority
		d.join(pod, g)
		if d.chance(0.2) {
			pod.Spec.Priority = was
		}
		n++
	}
	if n == 0 {
		return false
	}
	if d.chance(0.08) {
		return false // the group is gone
	}
	d.c.PodGroups = append(d.c.PodGroups, g)
	return whole
}

// mode draws a group's disruption mode, and reports whether its pods are evicted together.
func (d *draw) mode(g *schedulingv1beta1.PodGroup) bool {
	if g.Spec.DisruptionMode != nil {
		return g.Spec.DisruptionMode.All != nil
	}
	switch d.IntN(4) {
	case 0, 1:
		g.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
		return true
	case 2:
		g.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{Single: &schedulingv1beta1.SingleDisruptionMode{}}
	}
	return false
}

// budgets draws budgets. Pods that are evicted together use them up in the order of a map, so a pod then has one at most.
func (d *draw) budgets(whole bool) {
	for range d.IntN(4) {
		d.budget()
	}
	if !whole {
		return
	}
	seen := map[string]bool{}
	out := d.c.PodDisruptionBudgets[:0]
	for _, b := range d.c.PodDisruptionBudgets {
		if !seen[b.Namespace] {
			out = append(out, b)
		}
		seen[b.Namespace] = true
	}
	d.c.PodDisruptionBudgets = out
}

// reluctant lets no pod of some groups preempt others.
func (d *draw) reluctant() {
	for _, g := range d.c.PodGroups {
		if !d.chance(0.04) {
			continue
		}
		of := func(pod *corev1.Pod) {
			if in := pod.Spec.SchedulingGroup; in != nil && *in.PodGroupName == g.Name && pod.Namespace == g.Namespace {
				pod.Spec.PreemptionPolicy = ptr(corev1.PreemptNever)
			}
		}
		for _, pod := range d.c.Pods {
			of(pod)
		}
		for _, q := range d.c.Queue {
			of(q.Pod)
		}
	}
}
