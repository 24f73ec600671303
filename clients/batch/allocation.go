package batch

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// allocation returns what kube-scheduler writes into the status of a claim with these devices, for a pod on a node
// (k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go Allocate, v0.37.1).
func (s *Scheduler) allocation(c *resourcev1.ResourceClaim, devices []*stowagev1.DeviceAllocation, node string, all inventory) (*resourcev1.AllocationResult, error) {
	out := &resourcev1.AllocationResult{AllocationTimestamp: new(metav1.Now())}
	var found []foundDevice
	for _, d := range devices {
		of, known := all[deviceID{d.Driver, d.Pool, d.Device}]
		request, chosen := requestOf(c, d.Request)
		if !known || request == nil {
			return nil, errDevicesGone
		}
		found = append(found, of)
		result := resourcev1.DeviceRequestAllocationResult{
			Request: d.Request, Driver: d.Driver, Pool: d.Pool, Device: d.Device,
			BindingConditions: of.device.BindingConditions, BindingFailureConditions: of.device.BindingFailureConditions,
		}
		if chosen != nil {
			result.Tolerations = chosen.Tolerations
		} else {
			result.Tolerations, result.AdminAccess = request.Exactly.Tolerations, request.Exactly.AdminAccess
		}
		if d.Shared {
			result.ShareID = new(uuid.NewUUID())
		}
		for _, consumed := range d.ConsumedCapacity {
			if result.ConsumedCapacity == nil {
				result.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{}
			}
			name := resourcev1.QualifiedName(consumed.Name)
			result.ConsumedCapacity[name] = *resource.NewMilliQuantity(consumed.Value, of.device.Capacity[name].Value.Format)
		}
		out.Devices.Results = append(out.Devices.Results, result)
	}
	var err error
	if out.Devices.Config, err = s.configs(c, devices); err != nil {
		return nil, err
	}
	out.NodeSelector = nodeSelector(found, node)
	return out, nil
}

// requestOf returns the request of a claim that a result names, and its sub-request if the result has one.
func requestOf(c *resourcev1.ResourceClaim, name string) (*resourcev1.DeviceRequest, *resourcev1.DeviceSubRequest) {
	name, sub, listed := strings.Cut(name, "/")
	for i := range c.Spec.Devices.Requests {
		r := &c.Spec.Devices.Requests[i]
		if r.Name != name || !listed && r.Exactly == nil {
			continue
		}
		if !listed {
			return r, nil
		}
		for j := range r.FirstAvailable {
			if r.FirstAvailable[j].Name == sub {
				return r, &r.FirstAvailable[j]
			}
		}
	}
	return nil, nil
}

// configs returns the configurations of the classes of a claim, each once, and then the ones of the claim itself. A configuration for all requests
// names none.
func (s *Scheduler) configs(c *resourcev1.ResourceClaim, devices []*stowagev1.DeviceAllocation) (out []resourcev1.DeviceAllocationConfiguration, err error) {
	var names []string // the request that was served, for each request of the claim
	ofClass := map[string][2]int{}
	for _, r := range c.Spec.Devices.Requests {
		i := slices.IndexFunc(devices, func(d *stowagev1.DeviceAllocation) bool {
			return d.Request == r.Name || strings.HasPrefix(d.Request, r.Name+"/")
		})
		if i < 0 {
			continue // all of no devices
		}
		name := devices[i].Request
		names = append(names, name)
		class := ""
		if of, sub := requestOf(c, name); sub != nil {
			class = sub.DeviceClassName
		} else if of != nil {
			class = of.Exactly.DeviceClassName
		}
		at, known := ofClass[class]
		if known {
			for i := at[0]; i < at[1]; i++ {
				out[i].Requests = append(out[i].Requests, name)
			}
			continue
		}
		o, err := s.cluster.Informers().ResourceV1().DeviceClasses().Lister().Get(class)
		if err != nil {
			return nil, errDevicesGone
		}
		at[0] = len(out)
		for _, config := range o.Spec.Config {
			out = append(out, resourcev1.DeviceAllocationConfiguration{
				Source: resourcev1.AllocationConfigSourceClass, Requests: []string{name}, DeviceConfiguration: config.DeviceConfiguration,
			})
		}
		at[1] = len(out)
		ofClass[class] = at
	}
	covers := func(requests []string, name string) bool {
		of, _, _ := strings.Cut(name, "/")
		return slices.Contains(requests, name) || slices.Contains(requests, of)
	}
	for _, config := range c.Spec.Devices.Config {
		if len(config.Requests) == 0 || slices.ContainsFunc(names, func(name string) bool { return covers(config.Requests, name) }) {
			out = append(out, resourcev1.DeviceAllocationConfiguration{
				Source: resourcev1.AllocationConfigSourceClaim, Requests: config.Requests, DeviceConfiguration: config.DeviceConfiguration,
			})
		}
	}
	for i := range out {
		if len(names) == len(c.Spec.Devices.Requests) && !slices.ContainsFunc(names, func(name string) bool { return !covers(out[i].Requests, name) }) {
			out[i].Requests = nil
		}
	}
	return out, nil
}

// nodeSelector returns the nodes where devices are available: the node if one of them is local, otherwise the nodes of their slices; nil
// for all nodes (allocator_incubating.go createNodeSelector, v0.37.1).
func nodeSelector(devices []foundDevice, node string) *corev1.NodeSelector {
	var term corev1.NodeSelectorTerm
	for _, d := range devices {
		name, selector := d.slice.Spec.NodeName, d.slice.Spec.NodeSelector
		if d.slice.Spec.PerDeviceNodeSelection != nil && *d.slice.Spec.PerDeviceNodeSelection {
			name, selector = d.device.NodeName, d.device.NodeSelector
		}
		if name != nil || d.device.BindsToNode != nil && *d.device.BindsToNode {
			return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
			}}}}}
		}
		if selector != nil && len(selector.NodeSelectorTerms) > 0 {
			term.MatchFields = withNew(term.MatchFields, selector.NodeSelectorTerms[0].MatchFields)
			term.MatchExpressions = withNew(term.MatchExpressions, selector.NodeSelectorTerms[0].MatchExpressions)
		}
	}
	if len(term.MatchFields)+len(term.MatchExpressions) == 0 {
		return nil
	}
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}
}

// withNew adds the requirements that a list does not have.
func withNew(to, from []corev1.NodeSelectorRequirement) []corev1.NodeSelectorRequirement {
	for _, r := range from {
		if !slices.ContainsFunc(to, func(o corev1.NodeSelectorRequirement) bool { return apiequality.Semantic.DeepEqual(o, r) }) {
			to = append(to, r)
		}
	}
	return to
}
