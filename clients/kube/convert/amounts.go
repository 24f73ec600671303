package convert

import (
	"iter"
	"maps"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/skew"
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

// listed converts a resource list whose presence matters: only nil becomes nil.
func (c *converter) listed(list corev1.ResourceList, path *field.Path, before excess) *stowagev1.Resources {
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

// Quantity returns an amount of a resource in the contract's unit as Kubernetes states it: memory in powers of 1024.
func Quantity(name corev1.ResourceName, amount int64) resource.Quantity {
	switch {
	case name == corev1.ResourceCPU:
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage,
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		return *resource.NewQuantity(amount, resource.BinarySI)
	}
	return *resource.NewQuantity(amount, resource.DecimalSI)
}

// Quantities returns the resources of the contract as Kubernetes states them, nil for nil.
func Quantities(r *stowagev1.Resources) corev1.ResourceList {
	if r == nil {
		return nil
	}
	out := corev1.ResourceList{}
	put := func(name corev1.ResourceName, amount *int64) {
		if amount != nil {
			out[name] = Quantity(name, *amount)
		}
	}
	put(corev1.ResourceCPU, r.CpuMillis)
	put(corev1.ResourceMemory, r.MemoryBytes)
	put(corev1.ResourceEphemeralStorage, r.EphemeralStorageBytes)
	put(corev1.ResourcePods, r.Pods)
	for name, amount := range r.GetScalars() {
		put(corev1.ResourceName(name), &amount)
	}
	return out
}

// Occupies returns what a pod takes of a node's allocatable, pods aside. status is nil for a pod that is not on a node yet.
func Occupies(spec *stowagev1.PodSpec, status *stowagev1.PodResourceStatus) corev1.ResourceList {
	return skew.PodRequests(amountsOf(spec, status), runningRequests)
}

// amountsOf returns a pod with the amounts that the contract states.
func amountsOf(spec *stowagev1.PodSpec, s *stowagev1.PodResourceStatus) *corev1.Pod {
	out := &corev1.Pod{}
	out.Spec.InitContainers, out.Spec.Containers = amountsIn(spec.GetInitContainers()), amountsIn(spec.GetContainers())
	out.Spec.Overhead = Quantities(spec.GetOverhead())
	if r := spec.GetRequests(); r != nil {
		out.Spec.Resources = &corev1.ResourceRequirements{Requests: Quantities(r)}
	}
	for _, c := range s.GetContainers() {
		o := corev1.ContainerStatus{Name: c.Name, AllocatedResources: Quantities(c.Allocated)}
		if c.Actuated != nil {
			o.Resources = &corev1.ResourceRequirements{Requests: Quantities(c.Actuated)}
		}
		out.Status.ContainerStatuses = append(out.Status.ContainerStatuses, o)
	}
	if s.GetResourcesPresent() || s.GetActuated() != nil {
		skew.SetPodStatusResources(&out.Status, Quantities(s.GetAllocated()), &corev1.ResourceRequirements{Requests: Quantities(s.GetActuated())})
	}
	if s.GetResizeInfeasible() {
		out.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible}}
	}
	return out
}

func amountsIn(cs []*stowagev1.Container) []corev1.Container {
	var out []corev1.Container
	for _, c := range cs {
		o := corev1.Container{Name: c.Name, Resources: corev1.ResourceRequirements{Requests: Quantities(c.Requests)}}
		if c.RestartPolicy == stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ALWAYS {
			always := corev1.ContainerRestartPolicyAlways
			o.RestartPolicy = &always
		}
		out = append(out, o)
	}
	return out
}

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
