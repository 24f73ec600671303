package allocate

import (
	"fmt"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

// isTaken reports whether a claim has a device for itself.
func (s *search) isTaken(d *Device) bool { return s.taken.Exclusive(d.ID) || s.inUse[d.ID] != 0 }

// takenBy reports whether the search chose a device for a claim. Claims 64 apart count as one.
func (s *search) takenBy(d *Device, claim int) bool { return s.inUse[d.ID]>>(claim%64)&1 == 1 }

func (s *search) room(r *request, d *Device) bool {
	var have [2][]api.CapacityRequest
	if u := s.taken.shared[d.ID]; u != nil {
		have[0] = u.consumed
	}
	if u := s.shares[d.ID]; u != nil {
		have[1] = u.consumed
	}
	return d.room(r, have[:]...)
}

// take chooses a device, and returns what takes that back; nil if the device cannot be chosen. must is set if the request needs this
// device (allocator_incubating.go allocateDevice, v0.37).
func (s *search) take(r at, of *request, where place, must bool) (undo func(), err error) {
	c := &s.problem.claims[r.claim]
	d := s.pools[where.pool].Devices[where.device]
	multiple := d.typ.AllowMultipleAllocations
	if !multiple && of.admin && s.takenBy(d, r.claim) || !of.admin && s.isTaken(d) {
		return nil, nil
	}
	pays := s.pays(d)
	if pays && !s.consume(d) {
		return nil, nil
	}
	constrained := 0
	back := func() {
		for i := constrained - 1; i >= 0; i-- {
			s.leave(r.claim, i, of)
		}
		if pays {
			s.unconsume(d)
		}
	}
	if d.tainted(of) != nil {
		back()
		return nil, nil
	}
	for i := range c.constraints {
		if !s.join(r.claim, i, of, d) {
			if back(); must {
				return nil, fmt.Errorf("claim %s, request %s: cannot add device %s because a claim constraint would not be satisfied",
					c.name, of.name, d.Name())
			}
			return nil, nil
		}
		constrained++
	}
	if !multiple {
		s.inUse[d.ID] |= 1 << (r.claim % 64)
	}
	unmark := func() {
		if !multiple {
			s.inUse[d.ID] &^= 1 << (r.claim % 64)
		}
	}
	if !s.room(of, d) {
		unmark()
		back()
		return nil, nil
	}
	choice := Choice{Pool: where.pool, Device: where.device, Request: of.full(), Admin: of.admin, Shared: multiple, at: r}
	if multiple {
		choice.Consumed = d.consumes(of)
		s.share(d, choice.Consumed, 1)
	}
	s.made[r.claim] = append(s.made[r.claim], choice)
	n := len(s.made[r.claim])
	return func() {
		s.made[r.claim] = s.made[r.claim][:n-1]
		if multiple {
			s.share(d, choice.Consumed, -1)
		}
		unmark()
		back()
	}, nil
}

// pays reports whether the next claim with a device consumes counters of its pool: of several claims that share it, the first one does.
func (s *search) pays(d *Device) bool {
	shared := d.typ.AllowMultipleAllocations && (s.taken.shared[d.ID] != nil || s.shares[d.ID] != nil)
	return len(d.ConsumesCounters) > 0 && !shared
}

// share counts a share of a device more or less.
func (s *search) share(d *Device, takes []api.CapacityRequest, sign int64) {
	u := s.shares[d.ID]
	if u == nil {
		u = &use{}
		s.shares[d.ID] = u
	}
	u.claims += int(sign)
	for _, c := range takes {
		*amountOf(&u.consumed, c.Name) += sign * c.Value
	}
	if u.claims == 0 {
		delete(s.shares, d.ID)
	}
}

// countersOf returns what devices that claims have leave of the counters of a pool.
func (s *search) countersOf(p *Pool) *counters {
	c := s.used[p]
	if c != nil {
		return c
	}
	c = &counters{slices.Clone(p.counters), make([]int64, len(p.counters))}
	for _, list := range [][]*Device{p.Devices, p.elsewhere} {
		for _, d := range list {
			if len(d.uses) > 0 && s.taken.Any(d.ID) {
				for _, u := range d.uses {
					c.available[u.counter] = saturating.Sub(c.available[u.counter], u.amount)
				}
			}
		}
	}
	s.used[p] = c
	return c
}

// consume consumes what a device takes of counters, unless a counter of its pool lacks it.
func (s *search) consume(d *Device) bool {
	c := s.countersOf(d.pool)
	for _, u := range d.uses {
		c.consumed[u.counter] = saturating.Add(c.consumed[u.counter], u.amount)
	}
	for i := range c.available {
		if c.available[i] < c.consumed[i] {
			s.unconsume(d)
			return false
		}
	}
	return true
}

func (s *search) unconsume(d *Device) {
	c := s.countersOf(d.pool)
	for _, u := range d.uses {
		c.consumed[u.counter] -= u.amount
	}
}

// join adds a device to the devices of a constraint, unless the constraint does not allow it (matchAttributeConstraint and
// constraint.go distinctAttributeConstraint, v0.37).
func (s *search) join(claim, i int, r *request, d *Device) bool {
	c := &s.problem.claims[claim].constraints[i]
	if !c.covers(r) {
		return true
	}
	a := d.attribute(c.Attribute)
	if a == nil {
		return false
	}
	values := &s.values[claim][i]
	if c.Distinct {
		if slices.ContainsFunc(*values, func(o *api.DeviceAttribute) bool { return sameValue(o, a) }) {
			return false
		}
	} else if len(*values) > 0 && !sameValue((*values)[0], a) {
		return false
	}
	*values = append(*values, a)
	return true
}

func (s *search) leave(claim, i int, r *request) {
	if c := &s.problem.claims[claim].constraints[i]; c.covers(r) {
		values := &s.values[claim][i]
		*values = (*values)[:len(*values)-1]
	}
}
