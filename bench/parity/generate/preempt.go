package generate

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// oftenMore makes some cases cover other features that preemption depends on.
func (d *draw) oftenMore() {
	switch x := d.Float64(); {
	case x < 0.18:
		d.likelihood[spread], d.roomy, d.leaving = 0.5, d.chance(0.7), 0.25
	case x < 0.3:
		d.likelihood[podAffinity], d.roomy = 0.8, d.chance(0.7)
	case x < 0.38:
		d.likelihood[ports], d.roomy = 0.9, d.chance(0.7)
	case x < 0.46:
		d.likelihood[resources], d.likelihood[extended] = 0.9, 0.1
	case x < 0.52:
		d.likelihood[nomination] = 1
	case x < 0.55:
		d.likelihood[narrowing] = 0.7
	case x < 0.58:
		d.likelihood[disabling] = 0.9
	case x < 0.61:
		d.likelihood[resources], d.likelihood[extremes], d.likelihood[fractional] = 0.7, 0.3, 0.1
	case x < 0.64:
		d.likelihood[defaultSpread] = 0.9
	}
}

// preemptions draws priorities and start times of the pods, budgets for them, and fills nodes.
func (d *draw) preemptions() {
	if !d.has(preemption) {
		return
	}
	cloned := d.chance(0.15)
	if cloned {
		d.clone()
	}
	levels := d.levels()
	for i, pod := range d.c.Pods {
		d.victim(pod, i, levels)
	}
	if cloned || d.chance(0.2) {
		d.alike(levels)
	}
	for _, pod := range d.c.Nominated {
		pod.Spec.Priority = pick(d, levels...)
	}
	for _, q := range d.c.Queue {
		d.preemptor(q.Pod, levels)
	}
	d.twins()
	for range d.IntN(5) {
		d.budget()
	}
	for _, n := range d.c.Nodes {
		if d.chance(0.06) {
			n.Spec.Unschedulable = true
		}
		if !d.roomy && d.chance(0.85) || d.chance(0.15) {
			d.full(n)
		}
	}
	if cloned && d.chance(0.8) {
		for _, n := range d.c.Nodes[1:] {
			n.Status = *d.c.Nodes[0].Status.DeepCopy()
		}
	}
}

// clone gives all nodes the pods of the first one that has any.
func (d *draw) clone() {
	if len(d.c.Pods) == 0 {
		return
	}
	var pods []*corev1.Pod
	for _, n := range d.c.Nodes {
		for _, pod := range d.c.Pods {
			if pod.Spec.NodeName != d.c.Pods[0].Spec.NodeName {
				break
			}
			twin := pod.DeepCopy()
			twin.Name, twin.Spec.NodeName = d.name("pod"), n.Name
			pods = append(pods, twin)
		}
	}
	d.c.Pods = pods
}

// levels draws the priorities of a case.
func (d *draw) levels() []*int32 {
	if d.chance(0.03) {
		return []*int32{nil, ptr(int32(-2147483648)), ptr(int32(2000001000)), ptr(int32(2147483647)), ptr(int32(-1))}
	}
	return append(some(d, 0.6, ptr(int32(-10)), ptr(int32(1)), ptr(int32(5)), ptr(int32(100))), nil, ptr(int32(0)))
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// victim makes a pod of a node one that preemption may choose. Start times of a node differ: kube-scheduler's sort is not
// stable.
func (d *draw) victim(pod *corev1.Pod, i int, levels []*int32) {
	pod.Spec.Priority = pick(d, levels...)
	if d.chance(0.9) {
		// Pods of several nodes start at the same time.
		pod.Status.StartTime = &metav1.Time{Time: epoch.Add(time.Duration(d.IntN(4)*40+i%40) * time.Second)}
		for _, other := range d.c.Pods[:i] {
			t := other.Status.StartTime
			if other.Spec.NodeName == pod.Spec.NodeName && t != nil && t.Equal(pod.Status.StartTime) {
				pod.Status.StartTime = &metav1.Time{Time: epoch.Add(time.Duration(1000+i) * time.Second)}
			}
		}
	}
	if d.chance(max(0.08, d.leaving)) {
		d.terminate(pod)
	}
	switch x := d.Float64(); {
	case pod.DeletionTimestamp != nil && x < 0.4:
		d.disrupted(pod, corev1.ConditionTrue, corev1.PodReasonPreemptionByScheduler)
	case pod.DeletionTimestamp != nil && x < 0.5:
		d.disrupted(pod, corev1.ConditionTrue, corev1.PodReasonTerminationByKubelet)
	case pod.DeletionTimestamp != nil && x < 0.6:
		d.disrupted(pod, corev1.ConditionFalse, corev1.PodReasonPreemptionByScheduler)
	case x < 0.03:
		d.disrupted(pod, corev1.ConditionTrue, corev1.PodReasonPreemptionByScheduler)
	}
}

// alike makes nodes alike: their pods have the same priorities, and start at the same times or not at all.
func (d *draw) alike(levels []*int32) {
	starts, count := d.chance(0.7), map[string]int{}
	priorities := make([]*int32, 8)
	for i := range priorities {
		priorities[i] = pick(d, levels...)
	}
	for _, pod := range d.c.Pods {
		i := count[pod.Spec.NodeName]
		count[pod.Spec.NodeName]++
		if d.chance(0.05) {
			continue
		}
		pod.Spec.Priority, pod.Status.StartTime = priorities[i%len(priorities)], nil
		if starts {
			pod.Status.StartTime = &metav1.Time{Time: epoch.Add(time.Duration(2000+i) * time.Second)}
		}
	}
}

func (d *draw) disrupted(pod *corev1.Pod, status corev1.ConditionStatus, reason string) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: status, Reason: reason,
	})
}

// preemptor makes a pod of the queue one that preempts others.
func (d *draw) preemptor(pod *corev1.Pod, levels []*int32) {
	pod.Spec.Priority = pick(d, append(levels, ptr(int32(10)), ptr(int32(1000)), ptr(int32(1000)), ptr(int32(1000)))...)
	switch x := d.Float64(); {
	case x < 0.04:
		pod.Spec.PreemptionPolicy = ptr(corev1.PreemptNever)
	case x < 0.1:
		pod.Spec.PreemptionPolicy = ptr(corev1.PreemptLowerPriority)
	}
	if pod.Spec.NodeName == "" && d.chance(0.12) {
		pod.Status.NominatedNodeName = d.nodeName()
	}
	if d.chance(0.5) {
		d.askFor(pod, "500m", "1", "2", "3")
	}
	if len(d.c.Pods) > 0 {
		beside := pick(d, d.c.Pods...)
		meets := 0.1
		if d.roomy && d.focus(podAffinity) {
			meets = 0.6
		}
		if d.chance(meets) {
			d.repel(pod, beside)
		}
		if d.chance(meets) {
			d.repel(beside, pod)
		}
		if d.chance(0.06) {
			d.attract(pod, beside)
		}
	}
	if pod.Spec.TopologySpreadConstraints == nil && (d.chance(0.15) || d.roomy && d.focus(spread)) {
		d.evenly(pod)
	}
}

// askFor makes a pod request one of the amounts of CPU, if nothing else of it is in the way.
func (d *draw) askFor(pod *corev1.Pod, amounts ...string) {
	r := &pod.Spec.Containers[0].Resources
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	if _, limited := r.Limits[corev1.ResourceCPU]; !limited && pod.Spec.Resources == nil {
		r.Requests[corev1.ResourceCPU] = quantities(d, amounts...)
	}
}

// attract gives a pod affinity to another one.
func (d *draw) attract(pod, other *corev1.Pod) {
	a := affinityOf(pod)
	if a.PodAffinity == nil {
		a.PodAffinity = &corev1.PodAffinity{}
	}
	term := corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: other.Labels}, TopologyKey: d.topologyKey(), Namespaces: podNamespaces,
	}
	a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term)
}

// evenly gives a pod a spread constraint that pods like it count for, or an empty selector.
func (d *draw) evenly(pod *corev1.Pod) {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: int32(d.between(1, 2)), TopologyKey: pick(d, corev1.LabelHostname, corev1.LabelTopologyZone),
		WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{},
	}
	switch {
	case len(d.c.Pods) > 0 && d.chance(0.5):
		c.LabelSelector.MatchLabels = maps.Clone(pick(d, d.c.Pods...).Labels)
		pod.Labels = maps.Clone(c.LabelSelector.MatchLabels)
	case d.chance(0.7):
		key := pick(d, podLabelKeys...)
		c.LabelSelector.MatchLabels = map[string]string{key: pick(d, podLabelValues[key]...)}
	}
	if d.chance(0.3) {
		c.MinDomains = ptr(int32(d.between(1, 6)))
	}
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, c)
}

// twins makes nominated pods that are also in the queue the same pod.
func (d *draw) twins() {
	for _, n := range d.c.Nominated {
		for _, q := range d.c.Queue {
			if q.Pod.Name == n.Name && q.Pod.Namespace == n.Namespace {
				q.Pod.Spec.DeepCopyInto(&n.Spec)
			}
		}
	}
}

func (d *draw) budget() {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: d.name("budget"), Namespace: d.podNamespace()},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr(intstr.FromInt32(1)), Selector: d.podSelector()},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(pick(d, 0, 0, 0, 1, 1, 2, 3))},
	}
	if len(d.c.Pods) > 0 && d.chance(0.6) {
		pod := pick(d, d.c.Pods...)
		b.Namespace = pod.Namespace
		b.Spec.Selector = &metav1.LabelSelector{}
		for _, key := range podLabelKeys {
			if value, ok := pod.Labels[key]; ok && d.chance(0.5) {
				b.Spec.Selector.MatchLabels = map[string]string{key: value}
			}
		}
	}
	if d.chance(0.03) {
		// The API server keeps what an older release accepted.
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "not a value"}}
	}
	for _, pod := range d.c.Pods {
		if d.chance(0.05) {
			if b.Status.DisruptedPods == nil {
				b.Status.DisruptedPods = map[string]metav1.Time{}
			}
			b.Status.DisruptedPods[pod.Name] = metav1.Time{Time: epoch}
		}
	}
	d.c.PodDisruptionBudgets = append(d.c.PodDisruptionBudgets, b)
}

// full leaves too little of one resource, or of places for pods, on a node for a pod of the queue.
func (d *draw) full(n *corev1.Node) {
	var bound []*corev1.Pod
	for _, pod := range d.c.Pods {
		if pod.Spec.NodeName == n.Name {
			bound = append(bound, pod)
		}
	}
	l := n.Status.Allocatable
	if len(bound) > 0 && d.chance(0.25) {
		l[corev1.ResourcePods] = *resource.NewQuantity(int64(len(bound)), resource.DecimalSI)
	}
	asking := pick(d, d.c.Queue...).Pod
	for _, name := range some(d, 0.7, corev1.ResourceCPU, corev1.ResourceMemory) {
		q, request := requested(name, bound...), requested(name, asking)
		most := request.DeepCopy()
		share := pick(d, 0, 1, 1, 2, 3) // quarters
		request.SetMilli(request.MilliValue() / 4 * int64(share))
		q.Add(request)
		if q.Cmp(most) < 0 && d.chance(0.9) {
			q = most // it is large enough without its pods
		}
		q.RoundUp(resource.Milli)
		if name != corev1.ResourceCPU {
			q.RoundUp(0)
		}
		if q.Sign() >= 0 && q.CmpInt64(1<<50) <= 0 {
			l[name] = q
		}
	}
}
