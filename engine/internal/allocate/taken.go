package allocate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// Taken is the devices that claims have.
type Taken struct {
	exclusive nodeset.Set   // of ids
	again     map[int32]int // further claims that have a device of exclusive
	shared    map[int32]*use
}

// use is what claims share of a device.
type use struct {
	claims   int
	consumed []api.CapacityRequest
}

// NewTaken returns what no claim has.
func NewTaken(v *Inventory) *Taken {
	return &Taken{exclusive: nodeset.New(v.Len()), again: make(map[int32]int), shared: make(map[int32]*use)}
}

// Clone returns a copy.
func (t *Taken) Clone() *Taken {
	next := &Taken{exclusive: t.exclusive.Clone(), again: maps.Clone(t.again), shared: make(map[int32]*use, len(t.shared))}
	for id, u := range t.shared {
		next.shared[id] = &use{u.claims, slices.Clone(u.consumed)}
	}
	return next
}

// For returns a copy for an inventory with more devices.
func (t *Taken) For(v *Inventory) *Taken {
	next := t.Clone()
	next.exclusive = append(next.exclusive, make(nodeset.Set, len(nodeset.New(v.Len()))-len(next.exclusive))...)
	return next
}

// String describes what is taken.
func (t *Taken) String() string {
	var shared []string
	for id, u := range t.shared {
		used := slices.DeleteFunc(slices.Clone(u.consumed), func(c api.CapacityRequest) bool { return c.Value == 0 })
		shared = append(shared, fmt.Sprint(id, u.claims, used))
	}
	slices.Sort(shared)
	return fmt.Sprint(t.exclusive.Indexes(), t.again, shared)
}

// Exclusive reports whether one claim has the device for itself.
func (t *Taken) Exclusive(id int32) bool { return t.exclusive.Has(uint32(id)) }

// Any reports whether any claim has the device.
func (t *Taken) Any(id int32) bool { return t.Exclusive(id) || t.shared[id] != nil }

// Find returns the id of a device, and whether there is one.
func (v *Inventory) Find(n DeviceName) (int32, bool) {
	id, found := v.ids[n]
	return id, found
}

// Take gives a device to a claim. It reports whether that is to be taken back.
func (t *Taken) Take(id int32, a *api.DeviceAllocation) bool {
	switch {
	case a.AdminAccess:
		return false
	case !a.Shared:
		if t.Exclusive(id) {
			t.again[id]++
		}
		t.exclusive.Add(uint32(id))
		return true
	}
	u := t.shared[id]
	if u == nil {
		u = &use{}
		t.shared[id] = u
	}
	u.claims++
	for _, c := range a.ConsumedCapacity {
		to := amountOf(&u.consumed, c.Name)
		*to = saturating.Add(*to, c.Value)
	}
	return true
}

// Free takes back what Take changed.
func (t *Taken) Free(id int32, a *api.DeviceAllocation) {
	if !a.Shared {
		switch t.again[id] {
		case 0:
			t.exclusive.Remove(uint32(id))
		case 1:
			delete(t.again, id)
		default:
			t.again[id]--
		}
		return
	}
	u := t.shared[id]
	if u.claims--; u.claims == 0 {
		delete(t.shared, id)
		return
	}
	for _, c := range a.ConsumedCapacity {
		*amountOf(&u.consumed, c.Name) -= c.Value
	}
}

func amountOf(list *[]api.CapacityRequest, name string) *int64 {
	for i := range *list {
		if (*list)[i].Name == name {
			return &(*list)[i].Value
		}
	}
	*list = append(*list, api.CapacityRequest{Name: name})
	return &(*list)[len(*list)-1].Value
}

func amount(list []api.CapacityRequest, name string) (int64, bool) {
	for i := range list {
		if list[i].Name == name {
			return list[i].Value, true
		}
	}
	return 0, false
}
