package cluster

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/allocate"
	"github.com/stowage-scheduler/stowage/engine/internal/requests"
)

// DeviceDemand is what a pod requests of devices: its claims, and extended resources that a class serves.
type DeviceDemand struct {
	// Rejection is the text with which kube-scheduler rejects the pod as a whole; empty if it does not.
	Rejection string
	Claims    []DeviceClaim
	// Extended are the requested extended resources, by name, if a class serves at least one of them.
	Extended []api.Quantity
	// Left is the claim for extended resources that an earlier attempt left, nil for none.
	Left *api.ResourceClaim

	spec *api.PodSpec
	pod  string // with the namespace
	key  string // of what is allocated, but for names
}

// DeviceClaim is a claim that a pod uses.
type DeviceClaim struct {
	// Entry is the name of the pod's entry.
	Entry string
	// Name is empty for a claim that is created from a template and has no name yet.
	Name   ClaimName
	Object *api.ResourceClaim // nil if the claim is created
	Spec   *api.ResourceClaimSpec
}

// label returns the name of the claim for errors. A claim that is created has the name of its entry, as Kubernetes draws its name.
func (c *DeviceClaim) label(pod string) string {
	if c.Object == nil {
		namespace, _, _ := strings.Cut(pod, "/")
		return namespace + "/" + c.Entry
	}
	return c.Object.Namespace + "/" + c.Object.Name
}

// Demands reports whether the rules of a pod depend on devices, and so on what claims other pods allocated.
func (c *Cluster) Demands(spec *api.PodSpec) bool {
	if len(spec.ResourceClaims) > 0 {
		return true
	}
	if len(c.devices.classes) == 0 {
		return false
	}
	for _, list := range [][]api.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			if slices.ContainsFunc(list[i].Requests, func(q api.Quantity) bool { return c.serves(q) }) {
				return true
			}
		}
	}
	return slices.ContainsFunc(spec.Requests, c.serves) || slices.ContainsFunc(spec.Overhead, c.serves)
}

// Binds reports whether what the rules of a pod allow depends on the claims that other pods bound or allocated, and not only on where
// they are.
func (c *Cluster) Binds(spec *api.PodSpec) bool { return Attaches(spec) || c.Demands(spec) }

// ByName reports whether what is decided about a pod depends on its name, because of its claims.
func (c *Cluster) ByName(pod *api.Pod) bool {
	spec := &pod.Template.Spec
	if ClaimsOfPods(spec) {
		return true
	}
	if pod.Name == "" || !c.Demands(spec) {
		return false
	}
	return len(pod.ResourceClaimStatuses) > 0 ||
		slices.ContainsFunc(spec.ResourceClaims, func(r api.PodResourceClaim) bool { return r.ResourceClaimName == "" && r.Template == nil }) ||
		len(c.devices.claimed().ofPods[ClaimName{Namespace: pod.Template.Namespace, Name: pod.Name}]) > 0
}

func (c *Cluster) serves(q api.Quantity) bool {
	return q.Amount != 0 && byDevices(q.Resource) && c.devices.Serving(q.Resource) != nil
}

// byDevices reports whether a class may serve a resource (pkg/scheduler/util/utils.go IsDRAExtendedResourceName, v1.37).
func byDevices(resource string) bool {
	return requests.Extended(resource) || strings.HasPrefix(resource, api.ImplicitExtendedResource)
}

// DemandOf returns what a pod requests of devices; nil for nothing.
func (s *State) DemandOf(p *Pending) *DeviceDemand {
	last := &s.devicesOf
	if last.demandOf != p || last.demandAt != last.claimChanges {
		last.demandOf, last.demandAt, last.demand = p, last.claimChanges, s.findDemand(p)
	}
	return last.demand
}

func (s *State) findDemand(p *Pending) *DeviceDemand {
	if !s.Demands(p.Spec()) {
		return nil
	}
	d := &DeviceDemand{spec: p.Spec(), pod: p.Template.Namespace + "/" + p.Name}
	if d.Rejection = s.findClaims(p, d); d.Rejection != "" {
		return d
	}
	if all := requests.Pending(p.Spec()); slices.ContainsFunc(all, s.serves) {
		for _, q := range all {
			if q.Amount != 0 && byDevices(q.Resource) {
				d.Extended = append(d.Extended, q)
			}
		}
		for _, c := range s.devices.claimed().ofPods[ClaimName{Namespace: p.Template.Namespace, Name: p.Name}] {
			if c.ExtendedResources && c.ControllerPod == p.Name && !s.claimNow(nameOfClaim(c)).gone {
				d.Left = c
			}
		}
	}
	for i := range d.Claims {
		c := &d.Claims[i]
		if s.allocationOf(c) != nil || d.Left != nil && c.Object == d.Left {
			continue
		}
		if d.Rejection = s.missingClass(c, d.pod); d.Rejection != "" {
			return d
		}
		d.key = string(appendResourceClaim(append([]byte(d.key), 'c'), c.Spec))
	}
	for _, q := range d.Extended {
		d.key = string(binary.AppendVarint(appendText(append([]byte(d.key), 'x'), q.Resource), q.Amount))
	}
	if len(d.Extended) > 0 {
		d.key = string(appendContainers([]byte(d.key), d.spec))
	}
	return d
}

// findClaims finds the claims of a pod, or returns why it has none (dynamicresources.go foreachPodResourceClaim, v1.37).
func (s *State) findClaims(p *Pending, d *DeviceDemand) (rejection string) {
	namespace := p.Template.Namespace
	for i := range p.Spec().ResourceClaims {
		of := &p.Spec().ResourceClaims[i]
		name, owned := of.ResourceClaimName, false
		if name == "" {
			at := slices.IndexFunc(p.ResourceClaimStatuses, func(c api.PodClaimStatus) bool { return c.Name == of.Name })
			switch {
			case at < 0 && of.Template == nil:
				return fmt.Sprintf("pod %q: ResourceClaim not created yet", d.pod)
			case at < 0:
				d.Claims = append(d.Claims, DeviceClaim{Entry: of.Name, Spec: of.Template})
				continue
			}
			if name, owned = p.ResourceClaimStatuses[at].ResourceClaimName, true; name == "" {
				continue
			}
		}
		id := ClaimName{Namespace: namespace, Name: name}
		object := s.devices.claims.Get(id)
		switch {
		case s.claimNow(id).gone:
			return fmt.Sprintf("could not find ResourceClaim %q", namespace+"/"+name)
		case object.Terminating:
			return fmt.Sprintf("resourceclaim %q is being deleted", name)
		case owned && (object.ControllerPod == "" || object.ControllerPod != p.Name):
			return fmt.Sprintf("ResourceClaim %s/%s was not created for Pod %s (Pod is not owner)", namespace, name, d.pod)
		}
		d.Claims = append(d.Claims, DeviceClaim{Entry: of.Name, Name: id, Object: object, Spec: &object.Spec})
	}
	return ""
}

// missingClass returns the text about the first request of an unallocated claim whose class does not exist, empty if there is none
// (dynamicresources.go PreFilter and validateDeviceClass, v1.37).
func (s *State) missingClass(c *DeviceClaim, pod string) string {
	missing := func(request, class string) string {
		if s.devices.classes[class] != nil {
			return ""
		}
		return fmt.Sprintf("request %s: device class %s does not exist", request, class)
	}
	for i := range c.Spec.Requests {
		r := &c.Spec.Requests[i]
		switch {
		case r.Exactly != nil:
			if text := missing(r.Name, r.Exactly.DeviceClassName); text != "" {
				return text
			}
		case len(r.FirstAvailable) == 0:
			return fmt.Sprintf("resource claim %s, request %s: unknown request type", c.label(pod), r.Name)
		}
		for j := range r.FirstAvailable {
			if sub := &r.FirstAvailable[j]; r.Exactly == nil {
				if text := missing(r.Name+"/"+sub.Name, sub.Request.DeviceClassName); text != "" {
					return text
				}
			}
		}
	}
	return ""
}

// extendedRequests returns the requests for devices of extended resources (extendeddynamicresources.go createRequestsAndMappings,
// v1.37).
func (s *State) extendedRequests(spec *api.PodSpec, resources []string) (out []api.DeviceRequest) {
	containers := slices.Concat(spec.InitContainers, spec.Containers)
	for _, resource := range resources {
		class := s.devices.Serving(resource)
		if class == nil {
			continue
		}
		long := make([]*api.DeviceRequest, len(containers))
		for i := range containers {
			if i >= len(spec.InitContainers) || containers[i].Sidecar {
				long[i] = containerRequest(i, &containers[i], resource, class.Name, nil)
			}
		}
		var most *api.DeviceRequest
		for i := range spec.InitContainers {
			if containers[i].Sidecar {
				continue
			}
			r := containerRequest(i, &containers[i], resource, class.Name, long[i:])
			if r != nil && (most == nil || most.Exactly.Count < r.Exactly.Count) {
				most = r
			}
		}
		for _, r := range append([]*api.DeviceRequest{most}, long...) {
			if r != nil {
				out = append(out, *r)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b api.DeviceRequest) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// containerRequest returns the request of a container for what reusable requests do not have; nil for none
// (extendeddynamicresources.go createResourceRequestAndMappings, v1.37).
func containerRequest(i int, c *api.Container, resource, class string, reusable []*api.DeviceRequest) *api.DeviceRequest {
	wanted, _ := c.Requests.Get(resource)
	if wanted == 0 {
		return nil
	}
	have := int64(0)
	for _, r := range reusable {
		if r == nil {
			continue
		}
		if have += r.Exactly.Count; have >= wanted {
			return nil
		}
	}
	j := slices.IndexFunc(c.Requests, func(q api.Quantity) bool { return q.Resource == resource })
	return &api.DeviceRequest{
		Name:    fmt.Sprintf("container-%d-request-%d", i, j),
		Exactly: &api.ExactDeviceRequest{DeviceClassName: class, Count: wanted - have},
	}
}

// problem returns what is allocated on a node where some extended resources are served by devices. named has the names of claims for
// errors.
func (s *State) problem(d *DeviceDemand, served []string) *allocate.Problem {
	var claims []allocate.Claim
	for i := range d.Claims {
		if c := &d.Claims[i]; s.allocationOf(c) == nil {
			claims = append(claims, allocate.Claim{Name: c.label(d.pod), Spec: c.Spec})
		}
	}
	if len(served) > 0 {
		namespace, _, _ := strings.Cut(d.pod, "/")
		claims = append(claims, allocate.Claim{
			Name: namespace + "/<extended-resources>", Spec: &api.ResourceClaimSpec{Requests: s.extendedRequests(d.spec, served)},
		})
	}
	return allocate.NewProblem(claims, s.devices.classesOf())
}

func appendContainers(b []byte, spec *api.PodSpec) []byte {
	for _, list := range [][]api.Container{spec.InitContainers, spec.Containers} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for i := range list {
			b = append(b, flag(list[i].Sidecar))
			for _, q := range list[i].Requests {
				b = binary.AppendVarint(appendText(b, q.Resource), q.Amount)
			}
			b = append(b, ';')
		}
	}
	return b
}

// appendResourceClaim appends a key of a claim's spec.
func appendResourceClaim(b []byte, c *api.ResourceClaimSpec) []byte {
	exactly := func(r *api.ExactDeviceRequest) {
		b = appendText(b, r.DeviceClassName)
		b = append(b, flag(r.All), flag(r.AdminAccess))
		b = binary.AppendVarint(b, r.Count)
		for i := range r.Selectors {
			f := &r.Selectors[i]
			b = appendText(appendText(append(b, 's'), f.Expression), f.Driver)
			if f.Attribute != nil {
				b = appendText(appendText(append(b, 'a', byte(f.Attribute.Kind)), f.Attribute.Name), f.Attribute.Value)
			}
		}
		for _, t := range r.Tolerations {
			b = appendText(appendText(append(b, 't', flag(t.Exists), byte(t.Effect)), t.Key), t.Value)
		}
		for _, q := range r.Capacities {
			b = binary.AppendVarint(appendText(append(b, 'q'), q.Name), q.Value)
		}
		b = append(b, ';')
	}
	for i := range c.Requests {
		r := &c.Requests[i]
		if b = appendText(append(b, 'r'), r.Name); r.Exactly != nil {
			exactly(r.Exactly)
			continue
		}
		for j := range r.FirstAvailable {
			b = appendText(append(b, 'f'), r.FirstAvailable[j].Name)
			exactly(&r.FirstAvailable[j].Request)
		}
	}
	for _, k := range c.Constraints {
		b = appendText(appendTexts(append(b, 'k', flag(k.Distinct)), k.Requests), k.Attribute)
	}
	return b
}
