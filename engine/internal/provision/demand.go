package provision

import (
	"cmp"
	"context"
	"slices"
)

// demand is pods of a kind for new nodes, in one domain of a key if there is one.
type demand struct {
	*kind
	left       int
	key, value string   // no key for any domain
	weight     float64  // what a pod costs
	amounts    []amount // of one pod, by need
}

// amount is an amount of a resource, by the place of the resource in room.
type amount struct {
	resource int
	each     int64
}

// weight returns what a pod of a kind costs: by the weights that bound the cost, and a little for itself.
func (s *solver) weight(k *kind) float64 {
	weight := 1.0 / 1024
	for i := range s.rows {
		if r := &s.rows[i]; r.weight > 0 {
			weight += float64(r.weight * float64(r.each(k)) / float64(r.most))
		}
	}
	return weight
}

// demands returns what the unplaced pods of a trial need. Pods that must be spread over domains, or be apart, are divided evenly
// over the domains of templates that take them.
//
// times multiplies the number of pods that get room, because pods of other kinds may take the room meant for them.
func (s *solver) demands(ctx context.Context, from *trial, active []int, times int) (demands []demand, err error) {
	for _, k := range s.unplaced(from) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		d := demand{kind: k, left: times * from.left[k.index], weight: s.weight(k)}
		taken := false
		var values []string
		for _, t := range active {
			if k.most(s.first(t)) == 0 {
				continue
			}
			if taken = true; len(k.spread) == 0 {
				break
			}
			if v := s.value(t, k.spread[0]); !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		switch {
		case !taken:
		case len(values) < 2:
			demands = append(demands, d)
		default:
			for i, value := range values {
				part := d
				part.key, part.value = k.spread[0], value
				if part.left = (d.left + i) / len(values); part.left > 0 {
					demands = append(demands, part)
				}
			}
		}
	}
	slices.SortStableFunc(demands, func(a, b demand) int { return cmp.Compare(b.weight, a.weight) })
	return demands, nil
}
