package generate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resize gives a pod on a node the status of an in-place resize: the allocated and actuated resources differ from its spec's
// requests.
func (d *draw) resize(pod *corev1.Pod) {
	if d.chance(0.6) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type:   corev1.PodResizePending,
			Status: corev1.ConditionTrue,
			Reason: pick(d, corev1.PodReasonInfeasible, corev1.PodReasonInfeasible, corev1.PodReasonDeferred),
		})
	}
	status := func(containers []corev1.Container) []corev1.ContainerStatus {
		var out []corev1.ContainerStatus
		for _, c := range containers {
			if d.chance(0.2) {
				continue
			}
			s := corev1.ContainerStatus{Name: c.Name}
			if d.chance(0.7) {
				s.AllocatedResources = d.reported()
			}
			if d.chance(0.6) {
				s.Resources = &corev1.ResourceRequirements{}
				if d.chance(0.9) {
					s.Resources.Requests = d.reported()
				}
			}
			out = append(out, s)
		}
		return out
	}
	pod.Status.ContainerStatuses = status(pod.Spec.Containers)
	pod.Status.InitContainerStatuses = status(pod.Spec.InitContainers)
	if pod.Spec.Resources != nil || d.chance(0.2) {
		if d.chance(0.6) {
			pod.Status.AllocatedResources = d.reported()
		}
		if d.chance(0.6) {
			pod.Status.Resources = &corev1.ResourceRequirements{Requests: d.reported()}
			if d.has(podStatus) {
				d.podStatus(&pod.Status)
			}
		}
	}
}

// podStatus leaves out parts of a pod-level status: it may be there without requests, or with some of them.
func (d *draw) podStatus(s *corev1.PodStatus) {
	switch x := d.Float64(); {
	case x < 0.3:
		s.Resources.Requests = nil
	case x < 0.6:
		s.Resources.Limits, s.Resources.Requests = s.Resources.Requests, nil
	case x < 0.8:
		delete(s.Resources.Requests, pick(d, corev1.ResourceCPU, corev1.ResourceMemory))
	}
	if d.chance(0.3) {
		delete(s.AllocatedResources, pick(d, corev1.ResourceCPU, corev1.ResourceMemory))
		delete(s.AllocatedResources, corev1.ResourceEphemeralStorage)
	}
}

func (d *draw) reported() corev1.ResourceList {
	l := corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1")}
	if d.chance(0.8) {
		l[corev1.ResourceCPU] = quantities(d, "0", "100m", "700m", "2")
	}
	if d.chance(0.8) {
		l[corev1.ResourceMemory] = quantities(d, "0", "64Mi", "700Mi", "3Gi")
	}
	if d.has(extremes) {
		d.enlarge(l, 0.3)
	}
	if d.has(fractional) {
		d.fractionate(l)
	}
	return l
}

func (d *draw) overhead(pod *corev1.Pod) {
	pod.Spec.Overhead = corev1.ResourceList{}
	for _, name := range some(d, 0.7, corev1.ResourceCPU, corev1.ResourceMemory) {
		pod.Spec.Overhead[name] = resource.MustParse("120m")
		if name == corev1.ResourceMemory {
			pod.Spec.Overhead[name] = resource.MustParse("70Mi")
		}
	}
}
