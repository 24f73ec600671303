package decode

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// resources reads amounts of resources of pods, except the number of pods.
func (r *reader) resources(at *path, in *scan) api.Resources { return r.amounts(at, in, false) }

func (r *reader) nodeResources(at *path, in *scan) api.Resources { return r.amounts(at, in, true) }

// resourceFields are the resources with a field of their own, by number.
var resourceFields = [...]struct{ field, resource string }{
	1: {"cpu_millis", api.ResourceCPU},
	2: {"memory_bytes", api.ResourceMemory},
	3: {"ephemeral_storage_bytes", api.ResourceEphemeralStorage},
	4: {"pods", api.ResourcePods},
}

// hasField reports whether a resource has a field of its own.
func hasField(resource string) bool {
	switch resource {
	case api.ResourceCPU, api.ResourceMemory, api.ResourceEphemeralStorage, api.ResourcePods:
		return true
	}
	return false
}

func (r *reader) amounts(at *path, in *scan, ofNode bool) api.Resources {
	r.quantities = r.quantities[:0]
	for field := 1; field < len(resourceFields); field++ {
		if !in.next(number(byte(field))) {
			continue
		}
		amount, named := int64(in.varint()), &resourceFields[field]
		if named.resource == api.ResourcePods && !ofNode {
			r.refuse(at.field(named.field), notAllowed, "must be absent: only nodes have it")
			continue
		}
		r.atLeast(at.field(named.field), amount, 0)
		r.quantities = append(r.quantities, api.Quantity{Resource: named.resource, Amount: amount})
	}
	if in.next(sized(5)) {
		r.scalarAmounts(at, in, sized(5))
	}
	if len(r.quantities) == 0 {
		return api.Resources{}
	}
	if len(r.quantities) > 1 {
		slices.SortFunc(r.quantities, func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) })
	}
	out := r.to.quantities.take(len(r.quantities))
	copy(out, r.quantities)
	return out
}

// scalarAmounts reads a map of scalars and sorts it in place. The first tag was read.
func (r *reader) scalarAmounts(at *path, s *scan, tag tag) {
	if !r.readEntries(s, tag, number(2)) || !r.within(at, "scalars", len(r.rawEntries), MaxDistinctResources) {
		return
	}
	for i := range r.rawEntries {
		e := &r.rawEntries[i]
		if !utf8.ValidString(e.Key) {
			s.fail()
		}
		r.scalar(at, e.Key, int64(e.amount))
		r.quantities = append(r.quantities, api.Quantity{Resource: e.Key, Amount: int64(e.amount)})
	}
}

func (r *reader) scalar(at *path, name string, amount int64) {
	switch {
	case name == "":
		r.refuse(at.entry("scalars", name), required, "has an empty name")
	case hasField(name):
		r.refuse(at.entry("scalars", name), notAllowed, "has a field of its own and must not be among scalars")
	case len(name) > MaxLabelKeyBytes:
		r.refuse(at.entry("scalars", name), tooLong, "has a name of %d bytes, at most %d are allowed", len(name), MaxLabelKeyBytes)
	default:
		r.countName(at.entry("scalars", name), resourceName, name)
		r.atLeast(at.entry("scalars", name), amount, 0)
	}
}
