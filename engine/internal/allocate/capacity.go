package allocate

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// consumed returns what a request consumes of a capacity (consumable_capacity.go calculateConsumedCapacity, v0.37).
func consumed(requested int64, has bool, c *api.DeviceCapacity) int64 {
	p := c.Policy
	switch {
	case !has && p != nil && p.Default != nil:
		return *p.Default
	case !has:
		return c.Value
	case p == nil:
		return requested
	case p.ValidRange != nil:
		return roundUp(requested, p.ValidRange)
	}
	for _, v := range p.ValidValues {
		if requested <= v.Value {
			return v.Value
		}
	}
	return requested
}

// roundUp rounds up to the next step of a range, in whole numbers: the feature gate DRAFractionalCapacityRange is off in v1.37
// (consumable_capacity.go roundUpRange, v0.37). Its errors about amounts beyond 64 bits do not occur: thousandths have fewer whole numbers.
func roundUp(requested int64, in *api.CapacityRange) int64 {
	if requested < in.Min {
		return in.Min
	}
	if in.Step == nil {
		return requested
	}
	least, step := whole(in.Min), whole(*in.Step)
	n, rest := (whole(requested)-least)/step, (whole(requested)-least)%step
	if rest != 0 {
		n++
	}
	return saturating.Mul(least+step*n, 1000)
}

// whole returns an amount in thousandths as a whole number, rounded up as Quantity.Value does.
func whole(milli int64) int64 {
	if milli%1000 > 0 {
		return milli/1000 + 1
	}
	return milli / 1000
}

// violates reports whether a device does not give an amount (consumable_capacity.go violatesPolicy, v0.37).
func violates(amount int64, p *api.CapacityPolicy) bool {
	switch {
	case p == nil || p.Default != nil && amount == *p.Default:
		return false
	case p.ValidRange != nil:
		r := p.ValidRange
		return r.Max != nil && amount > *r.Max || r.Step != nil && (whole(amount)-whole(r.Min))%whole(*r.Step) != 0
	}
	for _, v := range p.ValidValues {
		if amount == v.Value {
			return false
		}
	}
	return len(p.ValidValues) > 0
}

// room reports whether a device has the capacities of a request, in addition to what claims have of it (consumable_capacity.go
// CmpRequestOverCapacity, v0.37).
func (d *Device) room(r *request, have ...[]api.CapacityRequest) bool {
	_, lacks := d.lacks(r, have...)
	return !lacks
}

// lacks returns the first capacity of which a device has too little for a request, in addition to what claims have of it.
func (d *Device) lacks(r *request, have ...[]api.CapacityRequest) (name string, lacks bool) {
	for i := range r.Capacities {
		if name := r.Capacities[i].Name; d.capacity(name) == nil {
			return name, true
		}
	}
	for i := range d.typ.Capacities {
		if c := &d.typ.Capacities[i]; !gives(r, c, have...) {
			return c.Name, true
		}
	}
	return "", false
}

// gives reports whether a capacity has room for a request, in addition to what claims have of it.
func gives(r *request, c *api.DeviceCapacity, have ...[]api.CapacityRequest) bool {
	requested, has := amount(r.Capacities, c.Name)
	takes := consumed(requested, has, c)
	sum := takes
	for _, list := range have {
		more, _ := amount(list, c.Name)
		sum = saturating.Add(sum, more)
	}
	return !violates(takes, c.Policy) && sum <= c.Value
}

func (d *Device) capacity(name string) *api.DeviceCapacity {
	for i := range d.typ.Capacities {
		if d.typ.Capacities[i].Name == name {
			return &d.typ.Capacities[i]
		}
	}
	return nil
}

// consumes returns what a request consumes of a device. The request has room.
func (d *Device) consumes(r *request) (out []api.CapacityRequest) {
	for i := range d.typ.Capacities {
		c := &d.typ.Capacities[i]
		requested, has := amount(r.Capacities, c.Name)
		out = append(out, api.CapacityRequest{Name: c.Name, Value: consumed(requested, has, c)})
	}
	return out
}
