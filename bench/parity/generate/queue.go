package generate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// inQueues makes some cases cover the events that pods wait for.
func (d *draw) inQueues() {
	switch x := d.Float64(); {
	case x < 0.25:
		d.likelihood[podAffinity], d.roomy = 0.7, d.chance(0.5)
	case x < 0.45:
		d.likelihood[spread], d.roomy, d.leaving = 0.6, d.chance(0.5), pick(d, 0, 0.25)
	case x < 0.55:
		d.likelihood[ports], d.roomy = 0.9, d.chance(0.5)
	case x < 0.62:
		d.likelihood[resources] = 0.9
	case x < 0.67:
		d.likelihood[defaultSpread] = 0.9
	case x < 0.7:
		d.likelihood[oddity] = 0.3
	case x < 0.72:
		d.likelihood[taints] = 0.6
	case x < 0.9:
		// Nodes reject pods for little but room.
		for _, f := range []feature{podAffinity, spread, ports, taints, nodeAffinity, narrowing, resources} {
			d.likelihood[f] = 0.01
		}
	}
}

// startApart gives each pod a start time of its own: kube-scheduler sorts the victims of a pod group on all nodes by priority and
// start time, and its sort is not stable.
func (d *draw) startApart() {
	seen := make(map[time.Time]bool)
	for i, pod := range d.c.Pods {
		if seen[pod.Status.StartTime.Time] {
			pod.Status.StartTime = &metav1.Time{Time: epoch.Add(time.Duration(10_000+i) * time.Second)}
		}
		seen[pod.Status.StartTime.Time] = true
	}
}

// wholeQueue draws a queue for a whole kube-scheduler on nodes with little room: pods of many priorities that preempt each
// other, wait for each other, and hold nominations.
func (d *draw) wholeQueue() {
	d.c.Whole = true
	levels := append(d.levels(), ptr(int32(10)), ptr(int32(50)))
	for i, pod := range d.c.Pods {
		d.victim(pod, i, levels)
		if d.chance(0.6) {
			pod.Spec.Priority = pick(d, nil, ptr(int32(-10)), ptr(int32(0)))
		}
		if d.chance(0.4) {
			d.askFor(pod, "500m", "1", "2")
		}
		if pod.Status.StartTime == nil {
			pod.Status.StartTime = &metav1.Time{Time: epoch.Add(time.Duration(5000+i) * time.Second)}
		}
	}
	d.pendingPods(levels)
	for i := range d.c.Queue {
		if j := d.IntN(len(d.c.Queue)); i != j && d.chance(0.25) {
			d.waitFor(d.c.Queue[i].Pod, d.c.Queue[j].Pod)
		}
	}
	if d.chance(0.2) {
		for range d.between(1, 2) {
			pod := d.nominated()
			pod.Status.NominatedNodeName = pick(d, d.c.Nodes...).Name
			d.c.Nominated = append(d.c.Nominated, pod)
		}
	}
	for range d.IntN(4) {
		d.budget()
	}
	if d.focus(queuedGroups) {
		d.startApart()
		d.queueGroups(levels)
	}
	if d.roomy && d.chance(0.7) {
		return
	}
	for _, n := range d.c.Nodes {
		if d.chance(0.9) {
			d.scarce(n)
		}
	}
}

// queueGroups puts entries of the queue into pod groups, and pods on nodes, too.
func (d *draw) queueGroups(levels []*int32) {
	alone := pick(d, 0, 0.2, 0.4, 0.4, 0.6)
	if d.chance(0.5) { // fewer pods find a place more often
		for i := range d.c.Queue {
			d.c.Queue[i].Count = min(d.c.Queue[i].Count, d.between(1, 3))
		}
	}
	for range pick(d, 1, 1, 2, 2, 3) {
		g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: d.name("group"), Namespace: d.podNamespace()}}
		g.Spec.Priority = pick(d, levels...)
		if d.chance(0.5) {
			g.Spec.Priority = pick(d, ptr(int32(100)), ptr(int32(1000)))
		}
		if d.chance(0.3) {
			g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
				Topology: []schedulingv1beta1.TopologyConstraint{{Key: d.topologyKey()}},
			}
		}
		pods := 0
		for i := range d.c.Queue {
			q := &d.c.Queue[i]
			if q.Pod.Spec.SchedulingGroup != nil || d.chance(max(alone, 0.3)) && (i > 0 || pods > 0) {
				continue
			}
			d.join(q.Pod, g)
			if g.Spec.SchedulingConstraints != nil { // which of several domains it fails in decides whether it stays nominated
				q.Pod.Status.NominatedNodeName = ""
			}
			if d.chance(0.8) {
				q.Pod.Spec.SchedulingGates = nil // one holds back the whole group
			}
			if d.chance(0.02) {
				q.Pod.Spec.PreemptionPolicy = ptr(corev1.PreemptNever)
			}
			pods += q.Count
		}
		if pods == 0 {
			continue
		}
		if d.chance(0.3) {
			pods += d.running(g)
		}
		d.policy(g, pods)
		d.c.PodGroups = append(d.c.PodGroups, g)
	}
	if d.chance(0.3) {
		d.victims(levels)
	}
	for _, g := range d.c.PodGroups {
		if d.chance(0.4) {
			g.Spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
		}
	}
}

// victims puts pods on nodes into a group that has none in the queue. Their priorities differ from the group's, so that the case
// shows which one counts.
func (d *draw) victims(levels []*int32) {
	g := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: d.name("group"), Namespace: d.podNamespace()}}
	g.Spec.Priority = pick(d, levels...)
	pods := d.running(g)
	if pods == 0 {
		return
	}
	for _, pod := range d.c.Pods {
		if of := pod.Spec.SchedulingGroup; of != nil && *of.PodGroupName == g.Name && pod.Namespace == g.Namespace {
			pod.Spec.Priority = pick(d, levels...)
		}
	}
	d.policy(g, pods)
	d.c.PodGroups = append(d.c.PodGroups, g)
}

// pendingPods draws the entries of the queue.
func (d *draw) pendingPods(levels []*int32) {
	left := pick(d, 3, 8, 15, 40)
	for range d.between(1, 12) {
		if left == 0 {
			return
		}
		pod := d.pod(pending)
		switch i, x := len(d.c.Queue), d.Float64(); {
		case x < 0.2 && len(d.c.Pods) > 0:
			pod = pick(d, d.c.Pods...).DeepCopy()
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds, pod.Finalizers = nil, nil, nil
			pod.Status.Reset()
		case x < 0.4 && i > 0:
			pod = d.c.Queue[d.IntN(i)].Pod.DeepCopy()
		}
		pod.Name = d.name("pending")
		d.preemptor(pod, levels)
		if d.chance(0.25) {
			pod.Spec.Priority = pick(d, levels...)
		}
		if i := len(d.c.Queue); i > 0 && d.chance(0.15) {
			// It comes when the queue has taken what room there was.
			other := d.c.Queue[d.IntN(i)].Pod
			late := other.DeepCopy()
			late.Name, late.Labels = pod.Name, map[string]string{"app": "late"}
			pod = late
			d.waitFor(pod, other)
		}
		d.ownOnly(pod)
		pod.Spec.NodeName = "" // it would be on that node
		count := 1
		if pod.Status.NominatedNodeName == "" && d.chance(0.35) {
			count = d.between(1, min(left, 8))
		}
		if count == 1 && d.owns() {
			d.ownVolumes(pod, pending)
		}
		if d.chance(0.03) {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
		}
		left -= count
		d.c.Queue = append(d.c.Queue, scenario.Pending{Pod: pod, Count: count})
	}
}

// waitFor gives a pod affinity to another one, which is attempted later in most cases.
func (d *draw) waitFor(pod, other *corev1.Pod) {
	if len(other.Labels) == 0 {
		return
	}
	d.attract(pod, other)
	if d.chance(0.3) {
		// No event reports that the other pod has come: the pod waits for a round.
		terms := pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		terms[len(terms)-1].Namespaces = nil
		terms[len(terms)-1].NamespaceSelector = &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: other.Namespace},
		}
	}
	if d.chance(0.7) {
		pod.Spec.Priority = pick(d, ptr(int32(100)), ptr(int32(500)), ptr(int32(2000)))
		other.Spec.Priority = pick(d, nil, ptr(int32(0)), ptr(int32(-5)), ptr(int32(20)))
	}
}

// scarce makes a node have room for few pods of the queue.
func (d *draw) scarce(n *corev1.Node) {
	bound := slices.DeleteFunc(slices.Clone(d.c.Pods), func(p *corev1.Pod) bool { return p.Spec.NodeName != n.Name })
	l := n.Status.Allocatable
	if d.chance(0.25) {
		l[corev1.ResourcePods] = *resource.NewQuantity(int64(len(bound)+d.between(0, 3)), resource.DecimalSI)
	}
	asking := pick(d, d.c.Queue...).Pod
	for _, name := range some(d, 0.6, corev1.ResourceCPU, corev1.ResourceMemory) {
		q, request := requested(name, bound...), requested(name, asking)
		most := request.DeepCopy()
		if d.chance(0.7) {
			for _, entry := range d.c.Queue {
				if r := requested(name, entry.Pod); r.Cmp(most) > 0 {
					most = r
				}
			}
		}
		request.SetMilli(request.MilliValue() / 2 * int64(pick(d, 0, 0, 1, 2, 2, 3, 4)))
		if q.Add(request); q.Cmp(most) < 0 && d.chance(0.9) {
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
