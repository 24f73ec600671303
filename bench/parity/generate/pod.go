package generate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// role is what a pod is drawn for.
type role int

const (
	onNode role = iota
	pending
)

func (d *draw) pod(as role) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "drawn", Namespace: d.podNamespace(), Labels: d.podLabels()}}
	d.containers(pod)
	if d.has(nodeAffinity) {
		if d.chance(0.4) {
			pod.Spec.NodeSelector = d.nodeSelector()
		}
		if d.chance(0.8) {
			affinityOf(pod).NodeAffinity = d.nodeAffinity()
		}
	}
	if d.has(podAffinity) {
		d.podAffinity(pod)
	}
	if d.has(spread) {
		pod.Spec.TopologySpreadConstraints = d.spreadConstraints(pod)
	}
	if d.has(taints) {
		pod.Spec.Tolerations = d.tolerations()
	}
	if d.has(ports) {
		d.hostPorts(pod)
		if d.chance(0.1) {
			d.hostNetwork(pod)
		}
	}
	if d.has(images) && d.chance(0.4) {
		d.imageVolumes(pod)
	}
	if d.has(features) {
		d.requireFeatures(pod, as)
	}
	if d.focus(resources) && d.chance(0.15) {
		d.overhead(pod)
	}
	if d.focus(resources) && d.chance(0.2) {
		d.podLevel(pod)
	}
	if as == pending && d.has(narrowing) {
		d.narrow(pod)
	}
	if d.has(oddity) {
		d.odd(pod)
	}
	if d.stores() {
		d.storedVolumes(pod, as)
	}
	if as == pending {
		if pod.Spec.NodeName == "" && d.chance(0.02) {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
			if d.chance(0.5) {
				pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "quota"})
			}
		}
	}
	return pod
}

func (d *draw) containers(pod *corev1.Pod) {
	add := func(name string) corev1.Container {
		c := corev1.Container{Name: name, Image: pick(d, imageNames...)}
		d.requests(&c)
		return c
	}
	for i := range d.oneOrMore(3) {
		pod.Spec.Containers = append(pod.Spec.Containers, add(fmt.Sprintf("main-%d", i)))
	}
	if d.chance(0.2) || d.focus(resources) && d.chance(0.4) {
		for i := range d.between(1, 3) {
			c := add(fmt.Sprintf("init-%d", i))
			if d.chance(0.4) {
				c.RestartPolicy = ptr(corev1.ContainerRestartPolicyAlways)
			}
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		}
	}
}

// terminate marks the pod as being deleted.
func (d *draw) terminate(pod *corev1.Pod) {
	pod.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	pod.DeletionGracePeriodSeconds = ptr(int64(30))
}
