package decode

import (
	"math/bits"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// footprint is the sum of all amounts that a pod, or several, state anywhere, over all resources and whether or not
// they are added up when scheduling. It bounds every sum of requests that the engine computes, and is cheap to keep.
type footprint uint64

// unbounded is where footprints stop growing: beyond every limit, far from overflow.
const unbounded footprint = 1 << 60

// perContainer is what NodeResourcesFit may score a container as if it asked for: 100 millicores and 200 MiB.
const perContainer footprint = 100 + 200<<20

func (f footprint) plus(g footprint) footprint { return min(f+g, unbounded) }

func (f footprint) times(n uint64) footprint {
	high, low := bits.Mul64(uint64(f), n)
	if high > 0 {
		return unbounded
	}
	return min(footprint(low), unbounded)
}

func resourcesFootprint(r api.Resources) footprint {
	var f footprint
	for _, q := range r {
		if q.Amount > 0 { // negative ones have been refused
			f = f.plus(min(footprint(q.Amount), unbounded))
		}
	}
	return f
}

func specFootprint(s *api.PodSpec) footprint {
	f := resourcesFootprint(s.Requests).plus(resourcesFootprint(s.Overhead))
	for _, containers := range [...][]api.Container{s.Containers, s.InitContainers} {
		for i := range containers {
			f = f.plus(resourcesFootprint(containers[i].Requests)).plus(perContainer)
		}
	}
	return f
}

func statusFootprint(s *api.PodResourceStatus) footprint {
	if s == nil {
		return 0
	}
	f := resourcesFootprint(s.Allocated).plus(resourcesFootprint(s.Actuated))
	for i := range s.Containers {
		f = f.plus(resourcesFootprint(s.Containers[i].Allocated)).plus(resourcesFootprint(s.Containers[i].Actuated))
	}
	return f
}

// bounded checks the footprint of the pods that add up at a path.
func (d *decoder) bounded(at path, f footprint) {
	if f > MaxFootprint {
		d.refuse(at, "the pods ask for more than %d of all resources together", int64(MaxFootprint))
	}
}
