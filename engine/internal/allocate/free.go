package allocate

// Count is a number of devices that meet the conditions of requests.
type Count struct {
	// Key is equal for equal conditions.
	Key string
	// Devices is how many of them are needed at least.
	Devices int64
	request *request
}

// Counts returns how many devices are needed at least for the requests of a problem, by their conditions, for requests that are not for
// the first of a list.
func (p *Problem) Counts() (out []Count) {
	at := make(map[string]int)
	for i := range p.claims {
		for _, subs := range p.claims[i].requests {
			if len(subs) != 1 || subs[0].parent != "" || subs[0].admin {
				continue
			}
			r := &subs[0]
			least := r.count
			if r.All {
				least = 1
			}
			key := r.conditions()
			k, known := at[key]
			if !known {
				k = len(out)
				at[key] = k
				out = append(out, Count{Key: key, request: r})
			}
			out[k].Devices += least
		}
	}
	return out
}

// conditions returns a key of the class and the selectors of a request.
func (r *request) conditions() string {
	b := text(nil, r.DeviceClassName)
	for i := range r.Selectors {
		s := &r.Selectors[i]
		if b = text(text(b, s.Expression), s.Driver); s.Attribute != nil {
			b = attribute(append(b, 'a'), s.Attribute)
		}
	}
	return string(b)
}

// Free returns how many devices of pools may be for requests with these conditions at most, many if several claims can have one of them.
func (c *Count) Free(pools []*Pool, taken *Taken, many int64) (free int64) {
	for _, p := range pools {
		for _, d := range p.Devices {
			if taken.Exclusive(d.ID) || !c.mayMatch(d) {
				continue
			}
			if d.typ.AllowMultipleAllocations {
				return many
			}
			free++
		}
	}
	return free
}

// mayMatch reports whether a device meets the conditions, or it is not known that it does not.
func (c *Count) mayMatch(d *Device) bool {
	for i := range c.request.matchers {
		if ok, err := c.request.matchers[i].matches(d); err == nil && !ok {
			return false
		}
	}
	return true
}
