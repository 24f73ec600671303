package requests

import (
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// What a container that leaves out a request counts for in scores (pkg/scheduler/util/pod_resources.go, v1.37).
const (
	DefaultCPUMillis   = 100
	DefaultMemoryBytes = 200 << 20
)

var defaults = api.Resources{
	{Resource: api.ResourceCPU, Amount: DefaultCPUMillis},
	{Resource: api.ResourceMemory, Amount: DefaultMemoryBytes},
}

// Pending returns what a pod to be placed asks for.
func Pending(spec *api.PodSpec) api.Resources {
	return withPodLevel(aggregate(spec, stated, nil), spec, spec.Requests)
}

// PendingDefaulted returns what a pod to be placed counts for where NodeResourcesFit scores: containers that leave out
// cpu or memory count with a default, and pod-level requests are not looked at (NewFit in
// pkg/scheduler/framework/plugins/noderesources/fit.go, v1.37, leaves that to NodeResourcesBalancedAllocation).
func PendingDefaulted(spec *api.PodSpec) api.Resources {
	return sum(aggregate(spec, stated, defaults), spec.Overhead)
}

// Running returns what a pod on a node occupies, and the same with defaults for what is absent. While it is resized in
// place it occupies the largest of what its spec states, what is allocated and what is actuated.
func Running(spec *api.PodSpec, status *api.PodResourceStatus) (occupied, defaulted api.Resources) {
	occupied = running(spec, status, nil)
	missing := defaults
	if podLevel(spec.Requests) {
		// Where a pod states requests of its own, a default is only for what neither it nor a container states
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

func running(spec *api.PodSpec, status *api.PodResourceStatus, missing api.Resources) api.Resources {
	total := aggregate(spec, stated, missing)
	effective := spec.Requests
	if status != nil {
		var allocated, actuated api.Resources
		if status.Allocated != nil && status.Actuated != nil {
			allocated, actuated = status.Allocated, status.Actuated
		} else {
			r := reported{status}
			allocated, actuated = aggregate(spec, r.allocated, missing), aggregate(spec, r.actuated, missing)
		}
		if status.ResizeInfeasible {
			total = maximum(actuated, allocated)
		} else {
			total = maximum(total, maximum(actuated, allocated))
		}
		if status.ResourcesPresent {
			if status.ResizeInfeasible {
				effective = nil
			}
			effective = maximum(effective, maximum(status.Actuated, status.Allocated))
		}
	}
	return withPodLevel(total, spec, effective)
}

// withPodLevel lets pod-level requests replace what the containers add up to, and adds the overhead.
func withPodLevel(total api.Resources, spec *api.PodSpec, effective api.Resources) api.Resources {
	if podLevel(spec.Requests) {
		var level api.Resources
		for _, q := range effective {
			if podLevelResource(q.Resource) {
				level = append(level, q)
			}
		}
		total = replace(total, level)
	}
	return sum(total, spec.Overhead)
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

// aggregate returns the most that a pod's containers have at one time: init containers run one after the other, each
// beside the sidecars that precede it; then the containers run beside all sidecars.
func aggregate(spec *api.PodSpec, of func(*api.Container) api.Resources, missing api.Resources) api.Resources {
	var total, sidecars, initial api.Resources
	for i := range spec.Containers {
		total = sum(total, fill(of(&spec.Containers[i]), missing))
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		r := fill(of(c), missing)
		if c.Sidecar {
			total = sum(total, r)
			sidecars = sum(sidecars, r)
			r = sidecars
		} else {
			r = sum(r, sidecars)
		}
		initial = maximum(initial, r)
	}
	return maximum(total, initial)
}

func stated(c *api.Container) api.Resources { return c.Requests }

// reported reads what a pod's status says of its containers.
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
