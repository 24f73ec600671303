package convert

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// digest returns a name for a text: 16 hexadecimal digits.
func digest(of []byte) string {
	sum := sha256.Sum256(of)
	return hex.EncodeToString(sum[:8])
}

// ExpressionName returns the name of a CEL expression in requests.
func ExpressionName(text string) string { return digest([]byte(text)) }

// thousandths converts an amount of a device, which has to be a whole number of thousandths.
func (c *converter) thousandths(q resource.Quantity, path *field.Path) int64 {
	if !c.within(q, math.MaxInt64/1000, path) {
		return 0
	}
	out := q.MilliValue()
	if q.Cmp(*resource.NewMilliQuantity(out, resource.DecimalSI)) != 0 {
		c.errs = append(c.errs, field.Invalid(path, q.String(), "more than three digits after the point"))
	}
	return out
}

// optional converts an amount that may be absent.
func (c *converter) optional(q *resource.Quantity, path *field.Path) *int64 {
	if q == nil {
		return nil
	}
	return new(c.thousandths(*q, path))
}

// selectors converts selectors of devices.
func (c *converter) selectors(in []resourcev1.DeviceSelector, path *field.Path) (out []*stowagev1.DeviceSelector) {
	for i, s := range in {
		if s.CEL == nil {
			c.errs = append(c.errs, field.Required(path.Index(i).Child("cel"), ""))
			continue
		}
		out = append(out, &stowagev1.DeviceSelector{Expression: ExpressionName(s.CEL.Expression)})
	}
	return out
}

// DeviceClass converts a DeviceClass.
func DeviceClass(d *resourcev1.DeviceClass) (*stowagev1.DeviceClass, error) {
	c := &converter{}
	out := &stowagev1.DeviceClass{Name: d.Name, Selectors: c.selectors(d.Spec.Selectors, field.NewPath("spec", "selectors"))}
	if name := d.Spec.ExtendedResourceName; name != nil {
		out.ExtendedResourceName = *name
	}
	if !d.CreationTimestamp.IsZero() {
		out.CreationTime = d.CreationTimestamp.Unix()
	}
	return out, c.err()
}

var deviceTaintEffects = map[resourcev1.DeviceTaintEffect]stowagev1.DeviceTaintEffect{
	resourcev1.DeviceTaintEffectNoSchedule: stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_NO_SCHEDULE,
	resourcev1.DeviceTaintEffectNoExecute:  stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_NO_EXECUTE,
}

// deviceTaint converts a taint. kube-scheduler ignores other effects.
func deviceTaint(t resourcev1.DeviceTaint) *stowagev1.DeviceTaint {
	return &stowagev1.DeviceTaint{Key: t.Key, Value: t.Value, Effect: deviceTaintEffects[t.Effect]}
}

// deviceTolerations converts tolerations. One of another effect than the two tolerates no taint that kube-scheduler reads.
func deviceTolerations(in []resourcev1.DeviceToleration) (out []*stowagev1.DeviceToleration) {
	for _, t := range in {
		effect, known := deviceTaintEffects[t.Effect]
		if known || t.Effect == "" {
			out = append(out, &stowagev1.DeviceToleration{
				Key: t.Key, Value: t.Value, Exists: t.Operator == resourcev1.DeviceTolerationOpExists, Effect: effect,
			})
		}
	}
	return out
}

// deviceAttribute converts an attribute with one value.
func (c *converter) deviceAttribute(name resourcev1.QualifiedName, a resourcev1.DeviceAttribute, path *field.Path) *stowagev1.DeviceAttribute {
	out := &stowagev1.DeviceAttribute{Name: string(name)}
	switch {
	case a.IntValue != nil:
		out.Kind, out.Value = stowagev1.DeviceAttributeKind_DEVICE_ATTRIBUTE_KIND_INTEGER, strconv.FormatInt(*a.IntValue, 10)
	case a.BoolValue != nil:
		out.Kind, out.Value = stowagev1.DeviceAttributeKind_DEVICE_ATTRIBUTE_KIND_BOOLEAN, strconv.FormatBool(*a.BoolValue)
	case a.StringValue != nil:
		out.Kind, out.Value = stowagev1.DeviceAttributeKind_DEVICE_ATTRIBUTE_KIND_STRING, *a.StringValue
	case a.VersionValue != nil:
		out.Kind, out.Value = stowagev1.DeviceAttributeKind_DEVICE_ATTRIBUTE_KIND_VERSION, *a.VersionValue
	default:
		c.errs = append(c.errs, field.Required(path.Key(string(name)), "a value that is no list: lists are alpha, and off in v1.37"))
	}
	return out
}

// deviceCapacities converts the capacities of a device, by name.
func (c *converter) deviceCapacities(d *resourcev1.Device, path *field.Path) (out []*stowagev1.DeviceCapacity) {
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		in, at := d.Capacity[name], path.Child("capacity").Key(string(name))
		capacity := &stowagev1.DeviceCapacity{Name: string(name), Value: c.thousandths(in.Value, at.Child("value"))}
		if p := in.RequestPolicy; p != nil {
			at := at.Child("requestPolicy")
			capacity.Policy = &stowagev1.DeviceCapacityPolicy{DefaultValue: c.optional(p.Default, at.Child("default"))}
			for i, v := range p.ValidValues {
				capacity.Policy.ValidValues = append(capacity.Policy.ValidValues,
					&stowagev1.DeviceCapacityValue{Value: c.thousandths(v, at.Child("validValues").Index(i))})
			}
			if r := p.ValidRange; r != nil {
				at := at.Child("validRange")
				capacity.Policy.ValidRange = &stowagev1.DeviceCapacityRange{
					Max: c.optional(r.Max, at.Child("max")), Step: c.optional(r.Step, at.Child("step")),
				}
				if r.Min != nil {
					capacity.Policy.ValidRange.Min = c.thousandths(*r.Min, at.Child("min"))
				}
			}
		}
		out = append(out, capacity)
	}
	return out
}

// counters converts counters, by name.
func (c *converter) counters(in map[string]resourcev1.Counter, path *field.Path) (out []*stowagev1.DeviceCounter) {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out = append(out, &stowagev1.DeviceCounter{Name: name, Value: c.thousandths(in[name].Value, path.Key(name).Child("value"))})
	}
	return out
}

// device converts a device, except for what its type has.
func (c *converter) device(d *resourcev1.Device, path *field.Path) *stowagev1.Device {
	out := &stowagev1.Device{
		Name:              d.Name,
		NodeSelector:      c.nodeSelector(d.NodeSelector, path.Child("nodeSelector")),
		AllNodes:          isTrue(d.AllNodes),
		BindsToNode:       isTrue(d.BindsToNode),
		BindingConditions: slices.Clone(d.BindingConditions),
	}
	out.NodeName = deref(d.NodeName)
	refuseAlpha(c, d, path)
	for i, consumed := range d.ConsumesCounters {
		refuseAlpha(c, &consumed, path.Child("consumesCounters").Index(i))
		out.ConsumesCounters = append(out.ConsumesCounters, &stowagev1.DeviceCounterSet{
			Name: consumed.CounterSet, Counters: c.counters(consumed.Counters, path.Child("consumesCounters").Index(i).Child("counters")),
		})
	}
	for _, t := range d.Taints {
		out.Taints = append(out.Taints, deviceTaint(t))
	}
	return out
}

// refuseAlpha refuses the fields of alpha features.
func refuseAlpha[T any](c *converter, of *T, path *field.Path) {
	for _, name := range skew.AlphaFields(of) {
		c.errs = append(c.errs, field.Forbidden(path.Child(name), "alpha, and off in v1.37"))
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

// resourceSlice converts a slice without its devices.
func (c *converter) resourceSlice(s *resourcev1.ResourceSlice) *stowagev1.ResourceSlice {
	spec := field.NewPath("spec")
	out := &stowagev1.ResourceSlice{
		Name:                   s.Name,
		Driver:                 s.Spec.Driver,
		Pool:                   s.Spec.Pool.Name,
		Generation:             s.Spec.Pool.Generation,
		SliceCount:             s.Spec.Pool.ResourceSliceCount,
		AllNodes:               isTrue(s.Spec.AllNodes),
		NodeSelector:           c.nodeSelector(s.Spec.NodeSelector, spec.Child("nodeSelector")),
		PerDeviceNodeSelection: isTrue(s.Spec.PerDeviceNodeSelection),
	}
	out.NodeName = deref(s.Spec.NodeName)
	refuseAlpha(c, &s.Spec, spec)
	for i, set := range s.Spec.SharedCounters {
		out.CounterSets = append(out.CounterSets, &stowagev1.DeviceCounterSet{
			Name: set.Name, Counters: c.counters(set.Counters, spec.Child("sharedCounters").Index(i).Child("counters")),
		})
	}
	return out
}

var allocationModes = map[resourcev1.DeviceAllocationMode]bool{
	"": false, resourcev1.DeviceAllocationModeExactCount: false, resourcev1.DeviceAllocationModeAll: true,
}

// exactly converts a request for devices.
func (c *converter) exactly(r *resourcev1.ExactDeviceRequest, path *field.Path) *stowagev1.ExactDeviceRequest {
	out := &stowagev1.ExactDeviceRequest{
		DeviceClassName: r.DeviceClassName,
		Selectors:       c.selectors(r.Selectors, path.Child("selectors")),
		All:             enum(c, allocationModes, r.AllocationMode, path.Child("allocationMode")),
		Count:           r.Count,
		AdminAccess:     isTrue(r.AdminAccess),
		Tolerations:     deviceTolerations(r.Tolerations),
	}
	refuseAlpha(c, r, path)
	if r.Capacity != nil {
		out.Capacities = c.capacityRequests(r.Capacity.Requests, path.Child("capacity", "requests"))
	}
	return out
}

func (c *converter) capacityRequests(in map[resourcev1.QualifiedName]resource.Quantity, path *field.Path) (out []*stowagev1.DeviceCapacityRequest) {
	for _, name := range slices.Sorted(maps.Keys(in)) {
		out = append(out, &stowagev1.DeviceCapacityRequest{Name: string(name), Value: c.thousandths(in[name], path.Key(string(name)))})
	}
	return out
}

// deviceClaimSpec converts the spec of a claim, or of a template of claims.
func (c *converter) deviceClaimSpec(s *resourcev1.ResourceClaimSpec, path *field.Path) *stowagev1.ResourceClaimSpec {
	out := &stowagev1.ResourceClaimSpec{}
	devices := path.Child("devices")
	for i := range s.Devices.Requests {
		r, at := &s.Devices.Requests[i], devices.Child("requests").Index(i)
		request := &stowagev1.DeviceRequest{Name: r.Name}
		if r.Exactly != nil {
			request.Exactly = c.exactly(r.Exactly, at.Child("exactly"))
		}
		for j, sub := range r.FirstAvailable {
			refuseAlpha(c, &sub, at.Child("firstAvailable").Index(j))
			exactly := &resourcev1.ExactDeviceRequest{
				DeviceClassName: sub.DeviceClassName, Selectors: sub.Selectors, AllocationMode: sub.AllocationMode, Count: sub.Count,
				Tolerations: sub.Tolerations, Capacity: sub.Capacity,
			}
			request.FirstAvailable = append(request.FirstAvailable,
				&stowagev1.DeviceSubRequest{Name: sub.Name, Request: c.exactly(exactly, at.Child("firstAvailable").Index(j))})
		}
		out.Requests = append(out.Requests, request)
	}
	for i, in := range s.Devices.Constraints {
		constraint := &stowagev1.DeviceConstraint{Requests: slices.Clone(in.Requests)}
		switch {
		case in.MatchAttribute != nil:
			constraint.Attribute = string(*in.MatchAttribute)
		case in.DistinctAttribute != nil:
			constraint.Attribute, constraint.Distinct = string(*in.DistinctAttribute), true
		default:
			c.errs = append(c.errs, field.Required(devices.Child("constraints").Index(i), "matchAttribute or distinctAttribute"))
		}
		out.Constraints = append(out.Constraints, constraint)
	}
	return out
}

// ExtendedClaimAnnotation marks the claims that kube-scheduler creates for extended resources (k8s.io/api/resource/v1).
const ExtendedClaimAnnotation = "resource.kubernetes.io/extended-resource-claim"

// ResourceClaim converts a ResourceClaim, without the pod that controls it. bindingTimeout is how long kube-scheduler waits for the conditions
// of devices, DefaultBindingTimeout if 0.
func ResourceClaim(r *resourcev1.ResourceClaim, bindingTimeout time.Duration) (*stowagev1.ResourceClaim, error) {
	c := &converter{}
	out := &stowagev1.ResourceClaim{
		Namespace:         object.Namespace(r),
		Name:              r.Name,
		Spec:              c.deviceClaimSpec(&r.Spec, field.NewPath("spec")),
		Allocation:        c.allocation(r.Status.Allocation, field.NewPath("status", "allocation")),
		Terminating:       r.DeletionTimestamp != nil,
		ExtendedResources: r.Annotations[ExtendedClaimAnnotation] == "true",
		BindingFailed:     bindingFailed(r, time.Now().Add(-cmp.Or(bindingTimeout, DefaultBindingTimeout))),
	}
	for _, by := range r.Status.ReservedFor {
		name := by.Name
		if by.APIGroup != "" || by.Resource != "pods" {
			name = path.Join(by.Resource, by.APIGroup, by.Name)
		}
		out.ReservedFor = append(out.ReservedFor, name)
	}
	return out, c.err()
}

func (c *converter) allocation(a *resourcev1.AllocationResult, path *field.Path) *stowagev1.ResourceClaimAllocation {
	if a == nil {
		return nil
	}
	out := &stowagev1.ResourceClaimAllocation{NodeSelector: c.nodeSelector(a.NodeSelector, path.Child("nodeSelector"))}
	for i, r := range a.Devices.Results {
		refuseAlpha(c, &r, path.Child("devices", "results").Index(i))
		out.Devices = append(out.Devices, &stowagev1.DeviceAllocation{
			Request: r.Request, Driver: r.Driver, Pool: r.Pool, Device: r.Device, AdminAccess: isTrue(r.AdminAccess), Shared: r.ShareID != nil,
			ConsumedCapacity: c.capacityRequests(r.ConsumedCapacity, path.Child("devices", "results").Index(i).Child("consumedCapacity")),
		})
	}
	return out
}

// DefaultBindingTimeout is how long kube-scheduler waits for the conditions of devices by default
// (pkg/scheduler/apis/config/v1/defaults.go, v1.37).
const DefaultBindingTimeout = 10 * time.Minute

// bindingFailed reports whether a device of a claim cannot be bound, if kube-scheduler waits for allocations since a time
// (pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go isClaimReadyForBinding, isClaimTimeout, v1.37).
func bindingFailed(r *resourcev1.ResourceClaim, since time.Time) bool {
	if r.Status.Allocation == nil {
		return false
	}
	ready, conditional := true, false
	for _, result := range r.Status.Allocation.Devices.Results {
		if len(result.BindingConditions) == 0 {
			continue
		}
		conditional = true
		status := deviceStatus(r, &result)
		if status == nil {
			ready = false
			break
		}
		if slices.ContainsFunc(result.BindingFailureConditions, func(name string) bool { return meta.IsStatusConditionTrue(status.Conditions, name) }) {
			return true
		}
		if slices.ContainsFunc(result.BindingConditions, func(name string) bool { return !meta.IsStatusConditionTrue(status.Conditions, name) }) {
			ready = false
			break
		}
	}
	at := r.Status.Allocation.AllocationTimestamp
	return !ready && conditional && at != nil && at.Time.Before(since)
}

// deviceStatus returns the status of an allocated device, nil if there is none. The first one counts, whichever share it is of, as upstream.
func deviceStatus(r *resourcev1.ResourceClaim, of *resourcev1.DeviceRequestAllocationResult) *resourcev1.AllocatedDeviceStatus {
	i := slices.IndexFunc(r.Status.Devices, func(s resourcev1.AllocatedDeviceStatus) bool {
		return s.Driver == of.Driver && s.Pool == of.Pool && s.Device == of.Device
	})
	if i < 0 {
		return nil
	}
	return &r.Status.Devices[i]
}

// deviceType converts what a device shares with others: the attributes that shared accepts, and its capacities. The name is a digest.
func (c *converter) deviceType(driver string, d *resourcev1.Device, shared func(resourcev1.QualifiedName) bool, path *field.Path) (
	out *stowagev1.DeviceType, own []*stowagev1.DeviceAttribute,
) {
	out = &stowagev1.DeviceType{Capacities: c.deviceCapacities(d, path), AllowMultipleAllocations: isTrue(d.AllowMultipleAllocations)}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		a := c.deviceAttribute(name, d.Attributes[name], path.Child("attributes"))
		if shared(name) {
			out.Attributes = append(out.Attributes, a)
		} else {
			own = append(own, a)
		}
	}
	content, _ := proto.MarshalOptions{Deterministic: true}.Marshal(out) // of texts that came from JSON
	out.Name = digest(append([]byte(driver+"\n"), content...))
	return out, own
}
