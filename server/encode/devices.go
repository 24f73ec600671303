package encode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// devices adds why claims have no devices to an explanation.
func (n Names) devices(e *verdict.DeviceExplanation, out *stowagev1.Explanation) {
	out.DeviceRequests = deviceRequests(e.Requests)
	for i := range e.Shortages {
		s := &e.Shortages[i]
		shortage := &stowagev1.DeviceShortage{
			Nodes: n.list(s.Nodes), Requests: deviceRequests(s.Requests),
			IncompletePools: uint32(s.Incomplete), InvalidPools: uint32(s.Invalid),
		}
		for _, c := range s.Constraints {
			shortage.Constraints = append(shortage.Constraints, &stowagev1.UnmetDeviceConstraint{
				PodClaim: c.PodClaim, Index: uint32(c.Index), Attribute: c.Attribute, Distinct: c.Distinct,
			})
		}
		out.DeviceShortages = append(out.DeviceShortages, shortage)
	}
	for i := range e.Taken {
		t := &e.Taken[i]
		taken := &stowagev1.TakenDevice{
			Driver: t.Driver, Pool: t.Pool, Device: t.Device, ClaimNamespace: t.Namespace, ClaimName: t.Claim,
		}
		if t.Node != verdict.NoNode {
			taken.NodeIndex = &t.Node
		}
		for j := range t.Pods {
			taken.Pods = append(taken.Pods, podReference(&t.Pods[j]))
		}
		out.TakenDevices = append(out.TakenDevices, taken)
	}
	for i := range e.Unusable {
		u := &e.Unusable[i]
		claim := &stowagev1.UnusableDeviceClaim{Namespace: u.Namespace, Name: u.Claim, Nodes: n.list(u.Nodes)}
		for j := range u.Devices {
			claim.Devices = append(claim.Devices, deviceAllocation(&u.Devices[j]))
		}
		out.UnusableDeviceClaims = append(out.UnusableDeviceClaims, claim)
	}
}

func deviceRequests(list []verdict.DeviceRequestCounts) []*stowagev1.DeviceRequestCounts {
	out := make([]*stowagev1.DeviceRequestCounts, len(list))
	for i := range list {
		r := &list[i]
		out[i] = &stowagev1.DeviceRequestCounts{
			PodClaim: r.PodClaim, ExtendedResource: r.Resource, Request: r.Request, DeviceClassName: r.Class, Requested: r.Requested,
			Devices: uint32(r.Devices), Available: uint32(r.Available),
		}
		for j := range r.Excluded {
			out[i].Excluded = append(out[i].Excluded, excludedDevices(&r.Excluded[j]))
		}
	}
	return out
}

func excludedDevices(x *verdict.ExcludedDevices) *stowagev1.ExcludedDevices {
	out := &stowagev1.ExcludedDevices{
		Reason: deviceExclusion(x.Cause), Devices: uint32(x.Devices), SelectorIndex: uint32(x.Index), Capacity: x.Capacity,
	}
	if s := x.Selector; s != nil {
		out.Selector = &stowagev1.DeviceSelector{Expression: s.Expression, Driver: s.Driver}
		if a := s.Attribute; a != nil {
			out.Selector.Attribute = &stowagev1.DeviceAttribute{Name: a.Name, Kind: deviceAttributeKind(a.Kind), Value: a.Value}
		}
	}
	if x.Cause == verdict.DeviceTainted {
		out.Taint = &stowagev1.DeviceTaint{Key: x.Taint.Key, Value: x.Taint.Value, Effect: deviceTaintEffect(x.Taint.Effect)}
	}
	return out
}

var deviceExclusions = [...]stowagev1.DeviceExclusion{
	verdict.DeviceOfOtherClass: stowagev1.DeviceExclusion_DEVICE_EXCLUSION_CLASS_SELECTOR,
	verdict.DeviceNotSelected:  stowagev1.DeviceExclusion_DEVICE_EXCLUSION_SELECTOR,
	verdict.DeviceNotEvaluated: stowagev1.DeviceExclusion_DEVICE_EXCLUSION_NOT_EVALUATED,
	verdict.DeviceTooSmall:     stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TOO_SMALL,
	verdict.DeviceTainted:      stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TAINT,
	verdict.DeviceTaken:        stowagev1.DeviceExclusion_DEVICE_EXCLUSION_TAKEN,
	verdict.DeviceCapacityUsed: stowagev1.DeviceExclusion_DEVICE_EXCLUSION_CAPACITY_USED,
	verdict.DeviceCountersUsed: stowagev1.DeviceExclusion_DEVICE_EXCLUSION_COUNTERS_USED,
}

func deviceExclusion(x verdict.DeviceCause) stowagev1.DeviceExclusion { return deviceExclusions[x] }

var deviceAttributeKinds = [...]stowagev1.DeviceAttributeKind{
	api.StringAttribute:  stowagev1.DeviceAttributeKind_DEVICE_ATTRIBUTE_KIND_STRING,
	api.IntegerAttribute: stowagev1.DeviceAttributeKind_DEVICE_ATTRIBUTE_KIND_INTEGER,
	api.BooleanAttribute: stowagev1.DeviceAttributeKind_DEVICE_ATTRIBUTE_KIND_BOOLEAN,
	api.VersionAttribute: stowagev1.DeviceAttributeKind_DEVICE_ATTRIBUTE_KIND_VERSION,
}

func deviceAttributeKind(x api.AttributeKind) stowagev1.DeviceAttributeKind {
	return deviceAttributeKinds[x]
}

var deviceTaintEffects = [...]stowagev1.DeviceTaintEffect{
	api.DeviceNoSchedule: stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_NO_SCHEDULE,
	api.DeviceNoExecute:  stowagev1.DeviceTaintEffect_DEVICE_TAINT_EFFECT_NO_EXECUTE,
}

func deviceTaintEffect(x api.DeviceTaintEffect) stowagev1.DeviceTaintEffect {
	return deviceTaintEffects[x]
}
