package generate

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// besides makes some cases be about another feature too, which would be in the way of nominations in most.
func (d *draw) besides() {
	switch x := d.Float64(); {
	case x < 0.2:
		d.likelihood[resources], d.likelihood[extended] = 0.7, 0.1
	case x < 0.24:
		d.likelihood[resources], d.likelihood[extremes], d.likelihood[fractional] = 0.7, 0.3, 0.1
	case x < 0.32:
		d.likelihood[disabling] = 0.9
	case x < 0.36:
		d.likelihood[defaultSpread] = 0.9
	case x < 0.5:
		// Many pods on many nodes, few of them with nominated pods.
		d.likelihood[longQueue] = 1
	}
}

// nominations draws pods that are nominated to nodes, pods of the queue among them, and makes these nodes such that the nominations
// matter.
func (d *draw) nominations() {
	if len(d.c.Nodes) == 0 || !d.has(nomination) {
		return
	}
	var targets []*corev1.Node
	for range d.between(1, 3) {
		targets = append(targets, pick(d, d.c.Nodes...))
	}
	if d.likelihood[longQueue] == 1 {
		targets = targets[:min(len(targets), 1+len(d.c.Nodes)/20)]
	}
	for _, q := range d.c.Queue {
		q.Pod.Spec.Priority = pick(d, nil, ptr(int32(0)), ptr(int32(0)), ptr(int32(10)), ptr(int32(-10)))
		for i := range q.Pod.Spec.TopologySpreadConstraints {
			if c := &q.Pod.Spec.TopologySpreadConstraints[i]; c.MatchLabelKeys == nil && d.chance(0.15) {
				c.LabelSelector = &metav1.LabelSelector{} // counts no pod, but every nominated one
			}
		}
	}
	for range d.between(1, 4) {
		pod := d.nominated()
		pod.Status.NominatedNodeName = pick(d, targets...).Name
		if d.chance(0.03) {
			pod.Status.NominatedNodeName = "elsewhere"
		}
		d.c.Nominated = append(d.c.Nominated, pod)
	}
	if d.chance(0.4) {
		// Otherwise there is room, and pods are in each other's way for other reasons.
		full := 0.4
		if d.likelihood[longQueue] == 1 {
			full = 0.95 // the queue fills what is left of the others
		}
		for _, n := range d.c.Nodes {
			d.fill(n, full)
		}
	}
	for _, q := range d.c.Queue {
		switch x := d.Float64(); {
		case x < 0.25:
			q.Pod.Status.NominatedNodeName = pick(d, targets...).Name
		case x < 0.4:
			q.Pod.Status.NominatedNodeName = d.nodeName()
		}
		if q.Pod.Status.NominatedNodeName != "" && d.chance(0.2) {
			d.narrow(q.Pod)
			q.Pod.Spec.NodeName = ""
		}
		if d.chance(0.08) && q.Pod.Spec.NodeName == "" {
			// kube-scheduler has nominated it elsewhere, which the queue does not say yet.
			pod := q.Pod.DeepCopy()
			pod.Status.NominatedNodeName = pick(d, targets...).Name
			d.c.Nominated = append(d.c.Nominated, pod)
		}
	}
}

// nominated draws a pending pod, often of the same workload as a pod of the queue or on a node, so that they affect each other.
func (d *draw) nominated() *corev1.Pod {
	pod := d.pod(pending)
	beside := pick(d, d.c.Queue...).Pod
	switch x := d.Float64(); {
	case x < 0.4:
		pod = beside.DeepCopy()
	case x < 0.55 && len(d.c.Pods) > 0:
		pod = pick(d, d.c.Pods...).DeepCopy()
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds, pod.Finalizers = nil, nil, nil
		pod.Status.Reset()
	}
	pod.Name, pod.Spec.NodeName = d.name("nominated"), ""
	if namespace := d.name("elsewhere"); d.chance(0.05) {
		pod.Name, pod.Namespace = beside.Name, namespace // another pod all the same
	}
	if d.chance(0.25) {
		d.repel(pod, beside)
	}
	pod.Spec.Priority = pick(d, nil, ptr(int32(0)), ptr(int32(10)), ptr(int32(10)), ptr(int32(1000)), ptr(int32(-10)))
	if d.chance(0.1) {
		d.terminate(pod)
	}
	return pod
}

// repel gives a pod anti-affinity to another, in the node or a wider domain.
func (d *draw) repel(pod, other *corev1.Pod) {
	a := affinityOf(pod)
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	term := corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{}, TopologyKey: d.topologyKey()}
	for _, key := range podLabelKeys {
		if v, ok := other.Labels[key]; ok && d.chance(0.5) {
			term.LabelSelector.MatchExpressions = append(term.LabelSelector.MatchExpressions,
				metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{v}})
		}
	}
	if other.Namespace != pod.Namespace {
		term.Namespaces = []string{other.Namespace}
	}
	a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
		a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term)
}

// fill fills a node until about as much is left as its nominated pods and the pods of the queue request. With a probability, it
// fills a node without nominated pods completely.
func (d *draw) fill(n *corev1.Node, full float64) {
	var bound, nominated []*corev1.Pod
	for _, pod := range d.c.Pods {
		if pod.Spec.NodeName == n.Name {
			bound = append(bound, pod)
		}
	}
	for _, pod := range d.c.Nominated {
		if pod.Status.NominatedNodeName == n.Name {
			nominated = append(nominated, pod)
		}
	}
	l := n.Status.Allocatable
	if len(nominated) == 0 {
		if d.chance(full) {
			l[corev1.ResourcePods] = *resource.NewQuantity(int64(len(bound)), resource.DecimalSI)
		}
		return
	}
	if d.chance(0.3) {
		room := pick(d, 1, len(nominated), len(nominated), len(nominated)+1, len(nominated)+3)
		l[corev1.ResourcePods] = *resource.NewQuantity(int64(len(bound)+room), resource.DecimalSI)
	}
	asking := pick(d, d.c.Queue...).Pod
	for _, name := range some(d, 0.4, corev1.ResourceCPU, corev1.ResourceMemory, gpu) {
		q := requested(name, bound...)
		switch x := d.Float64(); {
		case x < 0.4:
			q.Add(requested(name, asking))
		case x < 0.6:
			q.Add(requested(name, nominated...))
		default:
			q.Add(requested(name, asking))
			q.Add(requested(name, nominated...))
			if x < 0.8 && q.Sign() > 0 {
				q.Sub(*resource.NewMilliQuantity(1000, resource.DecimalSI))
			}
		}
		most := int64(math.MaxInt64 / 1000) // what the API server accepts of an extended resource
		q.RoundUp(resource.Milli)
		if name != corev1.ResourceCPU {
			q.RoundUp(0)
		}
		if q.Sign() >= 0 && q.CmpInt64(most) <= 0 {
			l[name] = q
		}
	}
}

// requested is about the sum of the requests of pods' containers.
func requested(name corev1.ResourceName, pods ...*corev1.Pod) resource.Quantity {
	var sum resource.Quantity
	for _, pod := range pods {
		for _, c := range pod.Spec.Containers {
			q, ok := c.Resources.Requests[name]
			if !ok {
				q = c.Resources.Limits[name]
			}
			sum.Add(q)
		}
	}
	return sum
}
