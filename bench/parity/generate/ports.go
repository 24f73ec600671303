package generate

import (
	corev1 "k8s.io/api/core/v1"
)

// hostPorts gives the pod's containers ports, no two of them equal, which the API refuses.
func (d *draw) hostPorts(pod *corev1.Pod) {
	seen := map[corev1.ContainerPort]bool{}
	add := func(c *corev1.Container) {
		for range d.IntN(3) {
			p := corev1.ContainerPort{
				ContainerPort: int32(d.between(8000, 8004)),
				Protocol:      pick(d, "", corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
				HostIP:        pick(d, "", "", "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::", "::1"),
			}
			identity := p
			if d.chance(0.9) {
				p.HostPort = p.ContainerPort
			}
			if p.Protocol == "" {
				identity.Protocol = corev1.ProtocolTCP
			}
			if !seen[identity] {
				seen[identity] = true
				c.Ports = append(c.Ports, p)
			}
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		add(&pod.Spec.InitContainers[i])
	}
}

// hostNetwork makes every port a host port, which the API server then fills in.
func (d *draw) hostNetwork(pod *corev1.Pod) {
	pod.Spec.HostNetwork = true
	for i := range pod.Spec.Containers {
		for j := range pod.Spec.Containers[i].Ports {
			pod.Spec.Containers[i].Ports[j].HostPort = 0
		}
	}
	for i := range pod.Spec.InitContainers {
		for j := range pod.Spec.InitContainers[i].Ports {
			pod.Spec.InitContainers[i].Ports[j].HostPort = 0
		}
	}
}
