package requests

import (
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// The defaults for missing requests of a container in scores (pkg/scheduler/util/pod_resources.go, v1.37).
const (
	DefaultCPUMillis   = 100
	DefaultMemoryBytes = 200 << 20
)

var defaults = api.Resources{
	{Resource: api.ResourceCPU, Amount: DefaultCPUMillis},
	{Resource: api.ResourceMemory, Amount: DefaultMemoryBytes},
}

// Pending returns the requests of a pod to be placed.
func Pending(spec *api.PodSpec) api.Resources {
	if large(spec, nil) {
		return lowest(wide.pending(spec))
	}
	return narrow.pending(spec)
}

func (m *arithmetic[N]) pending(spec *api.PodSpec) []api.QuantityOf[N] {
	return m.withPodLevel(m.aggregate(spec, containerRequests, nil), spec, m.of(spec.Requests))
}

// PendingDefaulted returns the requests of a pod to be placed as NodeResourcesFit scores them: with defaults for
// missing cpu and memory requests of containers, and without pod-level requests, which only
// NodeResourcesBalancedAllocation reads (NewFit in pkg/scheduler/framework/plugins/noderesources/fit.go, v1.37).
func PendingDefaulted(spec *api.PodSpec) api.Resources {
	if large(spec, nil) {
		return lowest(wide.pendingDefaulted(spec))
	}
	return narrow.pendingDefaulted(spec)
}

func (m *arithmetic[N]) pendingDefaulted(spec *api.PodSpec) []api.QuantityOf[N] {
	return m.sum(m.aggregate(spec, containerRequests, defaults), m.of(spec.Overhead))
}

// Running returns what a pod on a node occupies, and the same with defaults for missing requests. During an in-place
// resize it is the maximum of the requested, allocated and actuated resources.
func Running(spec *api.PodSpec, status *api.PodResourceStatus) (occupied, defaulted api.Resources) {
	running := narrow.running
	if large(spec, status) {
		running = func(spec *api.PodSpec, status *api.PodResourceStatus, missing api.Resources) []api.Quantity {
			return lowest(wide.running(spec, status, missing))
		}
	}
	occupied = running(spec, status, nil)
	missing := defaults
	if podLevel(spec.Requests) {
		// For a pod with pod-level requests, defaults apply only to resources that neither the pod nor a container requests
		// (pkg/scheduler/framework/types.go getNonMissingContainerRequests, v1.37).
		missing = nil
		for _, d := range defaults {
			if _, ok := occupied.Get(d.Resource); !ok {
				missing = append(missing, d)
			}
		}
	}
	if len(missing) == 0 {
		return occupied, occupied
	}
	return occupied, running(spec, status, missing)
}

func (m *arithmetic[N]) running(spec *api.PodSpec, status *api.PodResourceStatus, missing api.Resources) []api.QuantityOf[N] {
	total := m.aggregate(spec, containerRequests, missing)
	effective := m.of(spec.Requests)
	if status != nil {
		var allocated, actuated []api.QuantityOf[N]
		if status.Allocated != nil && status.Actuated != nil {
			allocated, actuated = m.of(status.Allocated), m.of(status.Actuated)
		} else {
			r := reported{status}
			allocated, actuated = m.aggregate(spec, r.allocated, missing), m.aggregate(spec, r.actuated, missing)
		}
		if status.ResizeInfeasible {
			total = m.maximum(actuated, allocated)
		} else {
			total = m.maximum(total, m.maximum(actuated, allocated))
		}
		if status.ResourcesPresent {
			if status.ResizeInfeasible {
				effective = nil
			}
			effective = m.maximum(effective, m.maximum(m.of(status.Actuated), m.of(status.Allocated)))
		}
	}
	return m.withPodLevel(total, spec, effective)
}

// withPodLevel replaces the sums over containers by pod-level requests, and adds the overhead.
func (m *arithmetic[N]) withPodLevel(total []api.QuantityOf[N], spec *api.PodSpec, effective []api.QuantityOf[N]) []api.QuantityOf[N] {
	if podLevel(spec.Requests) {
		var level []api.QuantityOf[N]
		for _, q := range effective {
			if podLevelResource(q.Resource) {
				level = append(level, q)
			}
		}
		total = replace(total, level)
	}
	return m.sum(total, m.of(spec.Overhead))
}

func podLevel(r api.Resources) bool {
	for _, q := range r {
		if podLevelResource(q.Resource) {
			return true
		}
	}
	return false
}

func podLevelResource(name string) bool {
	return name == api.ResourceCPU || name == api.ResourceMemory || strings.HasPrefix(name, "hugepages-")
}

// aggregate returns the maximum that a pod's containers request at one time. Init containers run one after the other,
// each with the preceding sidecars; then the containers run with all sidecars.
func (m *arithmetic[N]) aggregate(spec *api.PodSpec, of func(*api.Container) api.Resources, missing api.Resources) []api.QuantityOf[N] {
	var total, sidecars, initial []api.QuantityOf[N]
	absent := m.of(missing)
	for i := range spec.Containers {
		total = m.sum(total, fill(m.of(of(&spec.Containers[i])), absent))
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		r := fill(m.of(of(c)), absent)
		if c.Sidecar {
			total = m.sum(total, r)
			sidecars = m.sum(sidecars, r)
			r = sidecars
		} else {
			r = m.sum(r, sidecars)
		}
		initial = m.maximum(initial, r)
	}
	return m.maximum(total, initial)
}

func containerRequests(c *api.Container) api.Resources { return c.Requests }

// reported reads the status of a pod's containers.
type reported struct{ *api.PodResourceStatus }

func (s reported) allocated(c *api.Container) api.Resources {
	if r := s.find(c.Name); r != nil && r.Allocated != nil {
		return r.Allocated
	}
	if s.ResizeInfeasible {
		return nil
	}
	return c.Requests
}

func (s reported) actuated(c *api.Container) api.Resources {
	if r := s.find(c.Name); r != nil && r.Actuated != nil {
		return r.Actuated
	}
	return s.allocated(c)
}

func (s reported) find(name string) *api.ContainerResourceStatus {
	for i := range s.Containers {
		if s.Containers[i].Name == name {
			return &s.Containers[i]
		}
	}
	return nil
}
