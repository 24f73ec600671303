package generate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeStates are taints that controllers set and remove.
var nodeStates = []corev1.Taint{
	{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
	{Key: "ToBeDeletedByClusterAutoscaler", Value: "1767323045", Effect: corev1.TaintEffectNoSchedule},
	{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule},
	{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: corev1.TaintEffectNoSchedule},
}

// remedies gives nodes states and pods of DaemonSets, and other pods controllers and priorities.
func (d *draw) remedies() {
	for _, n := range d.c.Nodes {
		switch {
		case d.chance(0.2):
			n.Spec.Taints = append(n.Spec.Taints, pick(d, nodeStates...))
		case d.chance(0.15):
			n.Spec.Unschedulable = true
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
		}
		n.Spec.Taints = distinct(n.Spec.Taints)
	}
	controllers := []metav1.OwnerReference{
		d.controller("apps/v1", "ReplicaSet"), d.controller("apps/v1", "StatefulSet"), d.controller("batch/v1", "Job"),
	}
	for _, p := range d.c.Pods {
		if p.OwnerReferences == nil && d.chance(0.6) {
			p.OwnerReferences = []metav1.OwnerReference{pick(d, controllers...)}
		}
		p.Spec.Priority = ptr(int32(d.IntN(3)))
	}
	for _, q := range d.c.Queue {
		if q.Pod.OwnerReferences == nil && d.chance(0.4) {
			q.Pod.OwnerReferences = []metav1.OwnerReference{pick(d, controllers...)}
		}
		q.Pod.Spec.Priority = ptr(int32(d.IntN(3)))
	}
	for range d.IntN(3) {
		d.daemonSet()
	}
	d.starts()
}

func (d *draw) controller(apiVersion, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: d.name("owner"), UID: "uid", Controller: ptr(true)}
}

// daemonSet puts a pod of a DaemonSet on most nodes.
func (d *draw) daemonSet() {
	owner, agent := d.controller("apps/v1", "DaemonSet"), d.pod(onNode)
	agent.OwnerReferences, agent.Spec.NodeSelector = []metav1.OwnerReference{owner}, nil
	agent.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	for _, n := range d.c.Nodes {
		if !d.chance(0.8) {
			continue
		}
		p := agent.DeepCopy()
		p.Name, p.Spec.NodeName = d.name("agent"), n.Name
		if p.Spec.Affinity != nil {
			p.Spec.Affinity.NodeAffinity = nil
		}
		d.c.Pods = append(d.c.Pods, p)
	}
}

// distinct returns taints without those whose key and effect another one has.
func distinct(taints []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	seen := map[corev1.Taint]bool{}
	for _, t := range taints {
		if key := (corev1.Taint{Key: t.Key, Effect: t.Effect}); !seen[key] {
			seen[key] = true
			out = append(out, t)
		}
	}
	return out
}
