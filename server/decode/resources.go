package decode

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// resources decodes amounts of resources; nil stays nil. The number of pods is read of nodes only, as elsewhere it
// means nothing.
func (d *decoder) resources(parent *path, field string, in *stowagev1.Resources, ofNode bool) api.Resources {
	if in == nil {
		return nil
	}
	at := parent.field(field)
	out := make(api.Resources, 0, 4+min(len(in.GetScalars()), MaxDistinctResources))
	add := func(field, resource string, amount *int64) {
		if amount != nil {
			d.quantity(at.field(field), *amount)
			out = append(out, api.Quantity{Resource: resource, Amount: *amount})
		}
	}
	add("cpu_millis", api.ResourceCPU, in.CpuMillis)
	add("memory_bytes", api.ResourceMemory, in.MemoryBytes)
	add("ephemeral_storage_bytes", api.ResourceEphemeralStorage, in.EphemeralStorageBytes)
	if ofNode {
		add("pods", api.ResourcePods, in.Pods)
	}
	own := len(out)
	if d.within(&at, "scalars", len(in.GetScalars()), MaxDistinctResources) {
		for resource, amount := range in.GetScalars() {
			out = append(out, api.Quantity{Resource: resource, Amount: amount})
		}
	}
	byName := func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) }
	slices.SortFunc(out[own:], byName) // so that problems come in a fixed order
	for _, q := range out[own:] {
		d.scalar(&at, q)
	}
	slices.SortFunc(out, byName)
	return out
}

// scalar checks an amount of a resource that has no field of its own.
func (d *decoder) scalar(at *path, q api.Quantity) {
	if q.Resource == "" {
		d.refuse(at.entry("scalars", ""), "has an empty name")
		return
	}
	if hasField(q.Resource) {
		d.refuse(at.entry("scalars", q.Resource), "has a field of its own and must not be among scalars")
		return
	}
	if len(q.Resource) > MaxLabelKeyBytes {
		d.refuse(at.entry("scalars", q.Resource), "has a name of %d bytes, at most %d are allowed", len(q.Resource),
			MaxLabelKeyBytes)
		return
	}
	d.distinctResource(at.entry("scalars", q.Resource), q.Resource)
	d.quantity(at.entry("scalars", q.Resource), q.Amount)
}

func (d *decoder) quantity(at path, amount int64) {
	if amount < 0 {
		d.refuse(at, "is %d, at least 0 is required", amount)
	}
}

// hasField reports whether a resource is no scalar.
func hasField(resource string) bool {
	switch resource {
	case api.ResourceCPU, api.ResourceMemory, api.ResourceEphemeralStorage, api.ResourcePods:
		return true
	}
	return false
}

// distinctResource counts a scalar resource.
func (d *decoder) distinctResource(at path, resource string) {
	if !d.knows(theResourceNames, resource, MaxDistinctResources) && !d.full {
		d.refuse(at, "is one more distinct resource than the %d that a request may have", MaxDistinctResources)
	}
}
