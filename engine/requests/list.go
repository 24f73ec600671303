// Package requests adds up what pods ask for, as k8s.io/component-helpers/resource/helpers.go (v0.37) does.
//
// Whether a resource is present in a sum matters beside its amount: scoring fills in defaults for what is absent.
package requests

import "github.com/stowage-scheduler/stowage/engine/api"

// merge returns every resource of a and b, with combine of the amounts where both have it.
func merge(a, b api.Resources, combine func(x, y int64) int64) api.Resources {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := make(api.Resources, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Resource < b[0].Resource:
			out, a = append(out, a[0]), a[1:]
		case a[0].Resource > b[0].Resource:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, api.Quantity{Resource: a[0].Resource, Amount: combine(a[0].Amount, b[0].Amount)})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

func sum(a, b api.Resources) api.Resources {
	return merge(a, b, func(x, y int64) int64 { return x + y })
}

func maximum(a, b api.Resources) api.Resources {
	return merge(a, b, func(x, y int64) int64 { return max(x, y) })
}

// replace returns a with the amounts of b where b has a resource.
func replace(a, b api.Resources) api.Resources {
	return merge(a, b, func(_, y int64) int64 { return y })
}

// fill returns a with the amounts of defaults for resources that a lacks.
func fill(a, defaults api.Resources) api.Resources {
	return merge(a, defaults, func(x, _ int64) int64 { return x })
}
