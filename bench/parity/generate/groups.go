package generate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// oftenOther makes some cases be about what else decides about the pods of a group.
func (d *draw) oftenOther() {
	switch x := d.Float64(); {
	case x < 0.15:
		d.likelihood[spread] = 0.8
	case x < 0.3:
		d.likelihood[podAffinity] = 0.8
	case x < 0.4:
		d.likelihood[resources], d.likelihood[extended] = 0.9, 0.1
	case x < 0.45:
		d.likelihood[ports] = 0.8
	case x < 0.5:
		d.likelihood[nomination] = 1
	case x < 0.53:
		d.likelihood[oddity] = 0.25
	case x < 0.56:
		d.likelihood[resources], d.likelihood[fractional] = 0.7, 0.3
	case x < 0.59:
		d.likelihood[defaultSpread] = 0.9
	case x < 0.62:
		d.likelihood[narrowing] = 0.4
	case x < 0.65:
		d.likelihood[strategies] = 0.9
	}
}

// groups puts pods of the queue into pod groups, and pods on nodes, too. Some entries stay alone.
func (d *draw) groups() {
	var groups []*schedulingv1beta1.PodGroup
	for range pick(d, 1, 1, 1, 2, 3) {
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: d.name("group"), Namespace: d.podNamespace()}}
		g.Spec.Priority = pick(d, nil, ptr(int32(0)), ptr(int32(10)), ptr(int32(-5)), ptr(int32(1000)), ptr(int32(1000)), ptr(int32(1000)),
			ptr(int32(1000)), ptr(int32(1000)), ptr(int32(1000)))
		if d.chance(0.65) {
			g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
				Topology: []schedulingv1beta1.TopologyConstraint{{Key: d.topologyKey()}},
			}
		}
		groups = append(groups, g)
	}
	for len(d.c.Queue) < 2 || d.chance(0.3) {
		d.queue()
	}
	preempting := d.chance(0.8)
	pods := make([]int, len(groups))
	for i := range d.c.Queue {
		q := &d.c.Queue[i]
		if preempting && d.chance(0.7) {
			q.Count = min(q.Count, d.between(1, 2)) // fewer pods find a place more often
		}
		if i > 0 && d.chance(0.15) {
			continue
		}
		g := d.IntN(len(groups))
		d.join(q.Pod, groups[g])
		q.Pod.Spec.NodeName, q.Pod.Spec.SchedulingGates = "", nil
		if q.Count > 1 {
			q.Pod.Status.NominatedNodeName = ""
		}
		pods[g] += q.Count
		d.c.Nominated = slices.DeleteFunc(d.c.Nominated, func(p *corev1.Pod) bool { return p.Name == q.Pod.Name })
	}
	for i, g := range groups {
		if pods[i] == 0 {
			continue
		}
		n := pods[i]
		if d.chance(0.35) {
			n += d.running(g)
		}
		d.policy(g, n)
		d.c.PodGroups = append(d.c.PodGroups, g)
	}
	if preempting {
		d.disruptions()
	}
	d.starts()
	if d.chance(0.04) {
		d.discord()
	}
	if d.chance(0.7) {
		for _, n := range d.c.Nodes {
			d.tight(n)
		}
	}
}

// runningGroups puts pods on nodes into groups, and some of the queue, for scenarios and drains.
func (d *draw) runningGroups() {
	d.c.Whole, d.c.Nominated = d.chance(0.5), nil
	for range pick(d, 1, 1, 1, 2, 2) {
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: d.name("group"), Namespace: d.podNamespace()}}
		g.Spec.Priority = pick(d, ptr(int32(0)), ptr(int32(10)), ptr(int32(1000)))
		if d.chance(0.7) {
			g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
				Topology: []schedulingv1beta1.TopologyConstraint{{Key: d.topologyKey()}},
			}
		}
		pods := d.running(g)
		if pods == 0 {
			continue
		}
		for i := range d.c.Queue {
			if q := &d.c.Queue[i]; q.Pod.Spec.SchedulingGroup == nil && d.chance(0.3) {
				d.join(q.Pod, g)
				pods += q.Count
			}
		}
		d.policy(g, pods)
		d.mode(g)
		d.c.PodGroups = append(d.c.PodGroups, g)
	}
	for i := range d.c.Queue {
		pod := d.c.Queue[i].Pod
		pod.Spec.SchedulingGates, pod.Spec.NodeName, pod.Status.NominatedNodeName = nil, "", ""
	}
	d.starts()
	if d.chance(0.6) {
		for _, n := range d.c.Nodes {
			d.tight(n)
		}
	}
}

// join makes a pod one of a group, which has the group's priority.
func (d *draw) join(pod *corev1.Pod, g *schedulingv1beta1.PodGroup) {
	d.claimIn(g.Namespace, pod)
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &g.Name}
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = g.Spec.Priority, nil
}

// running puts up to four pods on nodes into a group, in one domain mostly, and returns how many.
func (d *draw) running(g *schedulingv1beta1.PodGroup) int {
	if len(d.c.Pods) == 0 {
		return 0
	}
	first := pick(d, d.c.Pods...)
	in, _ := d.domainOf(g, first)
	together := d.chance(0.85)
	n := 0
	for range d.between(1, 4) {
		pod := pick(d, d.c.Pods...)
		v, ok := d.domainOf(g, pod)
		if pod.Spec.SchedulingGroup != nil || together && v != in {
			continue
		}
		if !together && ok && v == "" {
			continue // with pods in another domain, it would depend on the order of a map what they pin
		}
		d.join(pod, g)
		n++
	}
	return n
}

// domainOf is the domain of a pod for a group, and whether there is one. Without a topology key there is a single domain.
func (d *draw) domainOf(g *schedulingv1beta1.PodGroup, pod *corev1.Pod) (string, bool) {
	if g.Spec.SchedulingConstraints == nil {
		return "any", true
	}
	i := slices.IndexFunc(d.c.Nodes, func(n *corev1.Node) bool { return n.Name == pod.Spec.NodeName })
	v, ok := d.c.Nodes[i].Labels[g.Spec.SchedulingConstraints.Topology[0].Key]
	if !ok {
		return "none of " + pod.Spec.NodeName, false
	}
	return v, true
}

// policy draws how many of a group's pods there must be.
func (d *draw) policy(g *schedulingv1beta1.PodGroup, pods int) {
	p := &g.Spec.SchedulingPolicy
	if d.chance(0.25) {
		p.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
		return
	}
	least := pick(d, pods, pods, max(1, pods-1), max(1, pods/2), d.between(1, pods))
	p.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(least)}
}

// discord gives one pod of a group another priority or preemption policy than the others.
func (d *draw) discord() {
	all := slices.Clone(d.c.Pods)
	for _, q := range d.c.Queue {
		all = append(all, q.Pod)
	}
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, pod := range all {
		if pod.Spec.SchedulingGroup == nil {
			continue
		}
		if d.chance(0.5) {
			pod.Spec.Priority = ptr(int32(7))
		} else {
			pod.Spec.PreemptionPolicy = ptr(corev1.PreemptNever)
		}
		return
	}
}

// tight leaves a node room for few more pods.
func (d *draw) tight(n *corev1.Node) {
	var bound []*corev1.Pod
	for _, pod := range d.c.Pods {
		if pod.Spec.NodeName == n.Name {
			bound = append(bound, pod)
		}
	}
	if d.chance(0.7) {
		room := pick(d, 0, 0, 1, 1, 2, 3)
		n.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(int64(len(bound)+room), resource.DecimalSI)
	}
}
