package allocate

import (
	"encoding/binary"
	"slices"
)

const (
	// rememberAfter is the number of steps after which a search remembers what failed. Most searches end before.
	rememberAfter = 1 << 10
	// maxRemembered bounds what a search remembers: some megabytes. A search with more states is not likely to end, and goes on without.
	maxRemembered = 1 << 15
	// near is with how many of the devices tried last a device is compared.
	near = 4
)

// failures are the states of a search from which no devices were found for the rest of the claims. kube-scheduler tries the same devices in
// each order, for requests that any of them satisfies. What a search finds, or which error it meets, depends on the state alone: from a state
// that has failed without an error, it would fail again.
type failures struct {
	after  int // steps
	seen   map[string]struct{}
	key    []byte
	chosen [][5]int
}

// remembers reports whether the search takes long enough to remember what fails.
func (s *search) remembers() bool {
	return s.limit-s.steps > s.failures.after && len(s.made) <= 64 // takenBy takes claims 64 apart for one
}

// failed reports whether the search has failed from its present state, and returns the key to remember it by if it fails now; empty if it
// is not remembered.
func (s *search) failed(r at, inSub bool, from place) (known bool, key string) {
	f := &s.failures
	if !s.remembers() || len(f.seen) >= maxRemembered {
		return false, ""
	}
	s.stateKey(r, inSub, from)
	if _, known = f.seen[string(f.key)]; known {
		return true, ""
	}
	return false, string(f.key)
}

// stateKey writes the state into key: the next device of which request, and all that the search has chosen. The order of choices does not
// matter, except for the claim at hand if it has constraints. The request of a choice matters then, and if the device is shared.
func (s *search) stateKey(r at, inSub bool, from place) {
	f := &s.failures
	f.chosen = f.chosen[:0]
	for i := range s.made {
		for j := range s.made[i] {
			c := &s.made[i][j]
			id := [5]int{int(s.pools[c.Pool].Devices[c.Device].ID)}
			present := i == r.claim
			if present || c.Shared {
				id[1] = 1 + i
			}
			ordered := present && len(s.problem.claims[i].constraints) > 0
			if ordered {
				id[2] = 1 + j
			}
			if ordered || c.Shared {
				id[3], id[4] = c.at.request, c.at.sub
			}
			f.chosen = append(f.chosen, id)
		}
	}
	slices.SortFunc(f.chosen, func(a, b [5]int) int { return slices.Compare(a[:], b[:]) })
	f.key = f.key[:0]
	for _, n := range []int{r.claim, r.request, r.sub, r.device, from.pool, from.device} {
		f.key = binary.AppendUvarint(f.key, uint64(n))
	}
	f.key = append(f.key, 0)
	if inSub {
		f.key[len(f.key)-1] = 1
	}
	for _, id := range f.chosen {
		for _, n := range id {
			f.key = binary.AppendUvarint(f.key, uint64(n))
		}
	}
}

// remember remembers that the search has failed from a state.
func (f *failures) remember(key string) {
	if key == "" {
		return
	}
	if f.seen == nil {
		f.seen = map[string]struct{}{}
	}
	f.seen[key] = struct{}{}
}

// hasTwin reports whether a device equals a device that was tried in vain for the same request from the same state: whatever could be had
// with it could be had with the other one, which comes before it. That holds for requests that take free devices in any order: not with
// administrator access, which takes devices of others, and not beside a request for all. Equal devices are near each other in most pools.
func (s *search) hasTwin(d *Device, tried []*Device) bool {
	return slices.ContainsFunc(tried[max(0, len(tried)-near):], func(o *Device) bool { return s.problem.twins(d, o) })
}

// twins reports whether nothing that the problem reads differs between two devices.
func (p *Problem) twins(a, b *Device) bool {
	if a.pool != b.pool || a.typ != b.typ || a.typ.AllowMultipleAllocations || !slices.Equal(a.uses, b.uses) || !slices.Equal(a.Taints, b.Taints) {
		return false
	}
	if a.slice.PerDeviceNodeSelection || b.slice.PerDeviceNodeSelection {
		return false
	}
	return !slices.ContainsFunc(p.reads, func(name string) bool {
		x, y := a.attribute(name), b.attribute(name)
		return (x == nil) != (y == nil) || x != nil && !sameValue(x, y)
	})
}
