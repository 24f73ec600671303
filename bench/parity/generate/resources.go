package generate

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	gpu       corev1.ResourceName = "example.com/gpu"
	license   corev1.ResourceName = "vendor.test/license"
	hugepages corev1.ResourceName = corev1.ResourceHugePagesPrefix + "2Mi"
)

func quantities(d *draw, values ...string) resource.Quantity {
	return resource.MustParse(pick(d, values...))
}

func (d *draw) allocatable(n *corev1.Node) {
	l := corev1.ResourceList{}
	n.Status.Allocatable, n.Status.Capacity = l, l
	d.ordinary(l)
	if d.has(extended) {
		d.extend(l, pick(d, 0.7, 0.95, 1, 1), "1", "2", "10")
	}
	if d.has(extremes) {
		d.enlarge(l, 0.7)
		if d.chance(0.05) {
			l[corev1.ResourcePods] = quantities(d, "2147483648", "4294967297", "9223372036854775", "9E")
		}
	}
	if d.has(fractional) {
		d.fractionate(l)
	}
}

func (d *draw) ordinary(l corev1.ResourceList) {
	if d.focus(strategies) && d.chance(0.4) {
		// Small ones, on which pods lie that are too much for them.
		l[corev1.ResourceCPU] = quantities(d, "500m", "1", "2")
		l[corev1.ResourceMemory] = quantities(d, "512Mi", "1Gi", "3Gi")
		l[corev1.ResourcePods] = quantities(d, "110")
		if d.chance(0.5) {
			l[gpu] = quantities(d, "1", "2")
		}
		return
	}
	if !d.focus(resources) && d.chance(0.9) {
		l[corev1.ResourceCPU] = quantities(d, "8", "16", "16", "32", "15900m")
		l[corev1.ResourceMemory] = quantities(d, "16Gi", "32Gi", "32Gi", "64Gi", "65432109876")
		l[corev1.ResourcePods] = quantities(d, "110", "250")
		return
	}
	if d.chance(0.98) {
		l[corev1.ResourceCPU] = quantities(d, "2", "4", "4", "8", "16", "3500m", "0")
	}
	if d.chance(0.98) {
		l[corev1.ResourceMemory] = quantities(d, "4Gi", "8Gi", "8Gi", "32Gi", "7654321k", "12345678901", "1T")
	}
	if d.chance(0.98) {
		l[corev1.ResourcePods] = quantities(d, "110", "110", "110", "110", "110", "10", "4", "3", "1")
	}
	if d.chance(0.5) {
		l[corev1.ResourceEphemeralStorage] = quantities(d, "10Gi", "100Gi", "0")
	}
	if d.chance(0.5) {
		l[gpu] = quantities(d, "0", "1", "4", "8")
	}
	if d.chance(0.3) {
		l[license] = quantities(d, "2", "20")
	}
	if d.chance(0.3) {
		l[hugepages] = quantities(d, "0", "64Mi", "1Gi")
	}
}

// requests draws what a container asks for. Missing and zero differ.
func (d *draw) requests(c *corev1.Container) {
	r, l := corev1.ResourceList{}, corev1.ResourceList{}
	if d.chance(0.75) {
		r[corev1.ResourceCPU] = quantities(d, "100m", "250m", "1", "500m", "0", "1", "2500m", "333m", "1m", "100u", "1500u")
	}
	if d.chance(0.75) {
		r[corev1.ResourceMemory] = quantities(d, "64Mi", "200Mi", "1Gi", "512Mi", "0", "2Gi", "6Gi", "1234567", "1")
	}
	if d.focus(resources) {
		if d.chance(0.3) {
			r[corev1.ResourceEphemeralStorage] = quantities(d, "0", "1Gi", "20Gi")
		}
		// The API wants limits with these, and requests follow limits.
		if d.chance(0.25) {
			l[gpu] = quantities(d, "0", "1", "2")
		}
		if d.chance(0.1) {
			l[license] = quantities(d, "1", "3")
		}
		if d.chance(0.1) && (!r.Cpu().IsZero() || !r.Memory().IsZero()) {
			l[hugepages] = quantities(d, "2Mi", "64Mi")
		}
		if d.chance(0.1) {
			// A limit alone is taken as the request too.
			delete(r, corev1.ResourceCPU)
			l[corev1.ResourceCPU] = quantities(d, "300m", "1")
		}
	}
	if d.has(extended) {
		d.extend(l, pick(d, 0.005, 0.01, 0.2), "0", "1", "1", "2")
	}
	if d.has(extremes) && d.chance(0.4) {
		d.enlarge(r, 0.5)
		d.enlarge(l, 0.5)
	}
	if d.has(fractional) {
		d.fractionate(r)
	}
	if len(r) > 0 {
		c.Resources.Requests = r
	}
	if len(l) > 0 {
		c.Resources.Limits = l
	}
}

// podLevel gives the pod requests of its own, which must not be less than its containers add up to. That sum is taken
// generously, over all containers of any kind.
func (d *draw) podLevel(pod *corev1.Pod) {
	sum := corev1.ResourceList{}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for _, c := range list {
			for _, resources := range []corev1.ResourceList{c.Resources.Requests, c.Resources.Limits} {
				for name, q := range resources {
					q.RoundUp(resource.Milli) // as the API server does before it compares
					total := sum[name]
					total.Add(q)
					sum[name] = total
				}
			}
		}
	}
	for name, total := range sum {
		most := int64(math.MaxInt64 >> 1)
		if name == corev1.ResourceCPU {
			most /= 1000
		}
		if total.CmpInt64(most) > 0 {
			return // a larger request would overflow
		}
	}
	pod.Spec.Resources = &corev1.ResourceRequirements{}
	r := corev1.ResourceList{}
	for _, name := range some(d, 0.7, corev1.ResourceCPU, corev1.ResourceMemory) {
		q := sum[name]
		q.Add(quantities(d, "0", "1", "64Mi"))
		if name == corev1.ResourceCPU {
			q = sum[name]
			q.Add(quantities(d, "0", "100m", "1"))
		}
		r[name] = q
	}
	if d.chance(0.5) {
		pod.Spec.Resources.Requests = r
	} else {
		if _, has := sum[hugepages]; !has && len(r) > 0 && d.chance(0.2) {
			r[hugepages] = quantities(d, "2Mi", "64Mi")
		}
		pod.Spec.Resources.Limits = r
	}
}
