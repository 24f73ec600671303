package kube

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// requests converts a resource list; an empty one is nil. It leaves out names that kube-scheduler does not count. The
// amounts are added to a sum that includes the given excess from rounding.
func (c *converter) requests(list corev1.ResourceList, path *field.Path, before excess) *stowagev1.Resources {
	if len(list) == 0 {
		return nil
	}
	out := &stowagev1.Resources{}
	for name, q := range list {
		at := path.Key(string(name))
		switch name {
		case corev1.ResourceCPU:
			out.CpuMillis = c.whole(name, q, at, before)
		case corev1.ResourceMemory:
			out.MemoryBytes = c.whole(name, q, at, before)
		case corev1.ResourceEphemeralStorage:
			out.EphemeralStorageBytes = c.whole(name, q, at, before)
		default:
			if !isScalar(name) {
				continue
			}
			if out.Scalars == nil {
				out.Scalars = map[string]int64{}
			}
			out.Scalars[string(name)] = *c.whole(name, q, at, before)
		}
	}
	return out
}

// allocatable converts a node's resources, which alone include pods.
func (c *converter) allocatable(list corev1.ResourceList, path *field.Path) *stowagev1.Resources {
	out := c.requests(list, path, nil)
	if pods, ok := list[corev1.ResourcePods]; ok {
		out.Pods = c.whole(corev1.ResourcePods, pods, path.Key(string(corev1.ResourcePods)), nil)
	}
	return out
}

// stated converts a resource list whose presence matters: only nil becomes nil.
func (c *converter) stated(list corev1.ResourceList, path *field.Path, before excess) *stowagev1.Resources {
	if list == nil {
		return nil
	}
	if out := c.requests(list, path, before); out != nil {
		return out
	}
	return &stowagev1.Resources{}
}

// whole returns an amount in the contract's units.
func (c *converter) whole(name corev1.ResourceName, q resource.Quantity, path *field.Path, before excess) *int64 {
	// MilliValue overflows silently, and Value is 0 for amounts that do not fit.
	most := int64(math.MaxInt64)
	if name == corev1.ResourceCPU {
		most /= 1000
	}
	if !c.within(q, most, path) {
		return new(int64)
	}
	v := before.rounded(name, q)
	return &v
}

// within rejects amounts outside [0, most].
func (c *converter) within(q resource.Quantity, most int64, path *field.Path) bool {
	switch {
	case q.Sign() < 0:
		c.errs = append(c.errs, field.Invalid(path, q.String(), "must not be negative"))
	case q.CmpInt64(most) > 0:
		c.errs = append(c.errs, field.Invalid(path, q.String(), "too large"))
	default:
		return true
	}
	return false
}

// isScalar reports whether kube-scheduler counts a resource that has no field of its own (pkg/scheduler/util/utils.go
// IsScalarResourceName, v1.37).
func isScalar(name corev1.ResourceName) bool {
	s := string(name)
	if strings.HasPrefix(s, corev1.ResourceHugePagesPrefix) || strings.HasPrefix(s, corev1.ResourceAttachableVolumesPrefix) {
		return true
	}
	if strings.Contains(s, corev1.ResourceDefaultNamespacePrefix) {
		return true
	}
	return strings.Contains(s, "/") && !strings.HasPrefix(s, corev1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+s)) == 0
}
