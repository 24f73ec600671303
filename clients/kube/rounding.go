package kube

import (
	"iter"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// excess is the difference between a sum of rounded amounts and the sum of the exact ones, by resource, in billionths of
// its unit: a Quantity has nothing finer.
//
// kube-scheduler sums the exact amounts of a pod's containers and rounds each sum up (pkg/scheduler/framework/types.go
// Resource.Add, v1.37), while the contract has whole units. Each amount therefore becomes the increase of the rounded
// running sum.
type excess map[corev1.ResourceName]int64

// unitOf returns the scale of a resource's unit, and the number of the smallest parts of a Quantity in a unit.
func unitOf(name corev1.ResourceName) (scale resource.Scale, parts int64) {
	if name == corev1.ResourceCPU {
		return resource.Milli, 1_000_000
	}
	return 0, 1_000_000_000
}

// roundedUpBy returns an amount in whole units, and the part of it that rounding has added.
func roundedUpBy(name corev1.ResourceName, q resource.Quantity) (whole, added int64) {
	scale, _ := unitOf(name)
	up := q
	if up.RoundUp(scale) {
		return q.ScaledValue(scale), 0
	}
	whole = up.ScaledValue(scale)
	up.Sub(q)
	return whole, up.ScaledValue(resource.Nano)
}

// rounded returns the increase of the rounded sum by an amount.
func (e excess) rounded(name corev1.ResourceName, q resource.Quantity) int64 {
	whole, added := roundedUpBy(name, q)
	_, parts := unitOf(name)
	return whole - (e[name]+added)/parts + e[name]/parts
}

// plus returns the excess after a list is added to the sum.
func (e excess) plus(list corev1.ResourceList) excess {
	var more excess
	for name, q := range list {
		if _, added := roundedUpBy(name, q); added > 0 {
			if more == nil {
				more = excess{}
				maps.Copy(more, e)
			}
			more[name] += added
		}
	}
	if more == nil {
		return e
	}
	return more
}

// sums iterates over a pod's init containers and containers in the order in which kube-scheduler sums them
// (k8s.io/component-helpers/resource/helpers.go aggregateContainerResourcesByFn, v1.37), with the excess of the sum that
// each is added to: sidecars to the sidecars before them, other init containers to these as well, and containers to all
// sidecars and the containers before them.
func sums(s *corev1.PodSpec, amounts func(*corev1.Container) corev1.ResourceList) iter.Seq2[*corev1.Container, excess] {
	return func(yield func(*corev1.Container, excess) bool) {
		var before excess
		for i := range s.InitContainers {
			c := &s.InitContainers[i]
			if !yield(c, before) {
				return
			}
			if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
				before = before.plus(amounts(c))
			}
		}
		for i := range s.Containers {
			if !yield(&s.Containers[i], before) {
				return
			}
			if i+1 < len(s.Containers) {
				before = before.plus(amounts(&s.Containers[i]))
			}
		}
	}
}

// requested returns the requests of a container's spec.
func requested(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests }
