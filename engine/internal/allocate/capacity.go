package allocate

import (
	"errors"
	"fmt"
	"math"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// errNotRepresentable is consumable_capacity.go errCapacityRequestNotRepresentable (v0.37).
var errNotRepresentable = errors.New("capacity request cannot be represented in the device's range arithmetic")

// consumed returns what a request consumes of a capacity (consumable_capacity.go calculateConsumedCapacity, v0.37).
func consumed(requested int64, has bool, c *api.DeviceCapacity) (int64, error) {
	p := c.Policy
	switch {
	case !has && p != nil && p.Default != nil:
		return *p.Default, nil
	case !has:
		return c.Value, nil
	case p == nil:
		return requested, nil
	case p.ValidRange != nil:
		return roundUp(requested, p.ValidRange)
	}
	for _, v := range p.ValidValues {
		if requested <= v.Value {
			return v.Value, nil
		}
	}
	return requested, nil
}

// roundUp rounds up to the next step of a range (consumable_capacity.go roundUpRange, v0.37).
func roundUp(requested int64, in *api.CapacityRange) (int64, error) {
	if requested < in.Min {
		return in.Min, nil
	}
	if in.Step == nil {
		return requested, nil
	}
	step, above := *in.Step, requested-in.Min
	n := above / step
	if above%step != 0 {
		n++
	}
	if n > (math.MaxInt64-in.Min)/step {
		return 0, fmt.Errorf("%w: rounding request %s up to the next step passes the milli-value range", errNotRepresentable, quantity(requested))
	}
	return in.Min + step*n, nil
}

// quantity returns an amount in thousandths as Kubernetes prints it in decimal form.
func quantity(milli int64) string {
	if milli%1000 == 0 {
		return fmt.Sprint(milli / 1000)
	}
	return fmt.Sprint(milli, "m")
}

// violates reports whether a device does not give an amount (consumable_capacity.go violatesPolicy, v0.37).
func violates(amount int64, p *api.CapacityPolicy) bool {
	switch {
	case p == nil || p.Default != nil && amount == *p.Default:
		return false
	case p.ValidRange != nil:
		r := p.ValidRange
		return r.Max != nil && amount > *r.Max || r.Step != nil && (amount-r.Min)%*r.Step != 0
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
func (d *Device) room(r *request, have ...[]api.CapacityRequest) (bool, error) {
	for i := range r.Capacities {
		if d.capacity(r.Capacities[i].Name) == nil {
			return false, nil
		}
	}
	fits := true
	for i := range d.typ.Capacities {
		ok, err := d.gives(r, &d.typ.Capacities[i], have...)
		if err != nil {
			return false, err
		}
		fits = fits && ok
	}
	return fits, nil
}

// gives reports whether a device has a capacity for a request, in addition to what claims have of it.
func (d *Device) gives(r *request, c *api.DeviceCapacity, have ...[]api.CapacityRequest) (bool, error) {
	requested, has := amount(r.Capacities, c.Name)
	takes, err := consumed(requested, has, c)
	if err != nil {
		return false, fmt.Errorf("capacity %q: %w", c.Name, err)
	}
	sum := takes
	for _, list := range have {
		more, _ := amount(list, c.Name)
		sum = saturating.Add(sum, more)
	}
	return !violates(takes, c.Policy) && sum <= c.Value, nil
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
		if takes, err := consumed(requested, has, c); err == nil {
			out = append(out, api.CapacityRequest{Name: c.Name, Value: takes})
		}
	}
	return out
}
