// Package requests adds up the requests of pods, as k8s.io/component-helpers/resource/helpers.go (v0.37) does.
//
// A sum distinguishes an absent resource from an amount of 0, because scoring has defaults for absent ones.
//
// kube-scheduler adds up the requests of a pod without bound, and uses the lowest 64 bits of the sum. A negative amount here belongs
// to a pod with requests of 2^63 or more.
package requests

import "github.com/stowage-scheduler/stowage/engine/api"

// arithmetic adds and compares amounts in numbers of type N.
type arithmetic[N any] struct {
	of         func(api.Resources) []api.QuantityOf[N]
	plus, most func(x, y N) N
}

// narrow is for pods whose sums fit 64 bits, which are almost all.
var narrow = arithmetic[int64]{
	of:   func(r api.Resources) []api.Quantity { return r },
	plus: func(x, y int64) int64 { return x + y },
	most: func(x, y int64) int64 { return max(x, y) },
}

// merge returns the resources of a and b. combine gives the amount of a resource of both.
func merge[N any](a, b []api.QuantityOf[N], combine func(x, y N) N) []api.QuantityOf[N] {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := make([]api.QuantityOf[N], 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Resource < b[0].Resource:
			out, a = append(out, a[0]), a[1:]
		case a[0].Resource > b[0].Resource:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, api.QuantityOf[N]{Resource: a[0].Resource, Amount: combine(a[0].Amount, b[0].Amount)})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

func (m *arithmetic[N]) sum(a, b []api.QuantityOf[N]) []api.QuantityOf[N] { return merge(a, b, m.plus) }

func (m *arithmetic[N]) maximum(a, b []api.QuantityOf[N]) []api.QuantityOf[N] {
	return merge(a, b, m.most)
}

// replace returns a with the amounts of b for resources of b.
func replace[N any](a, b []api.QuantityOf[N]) []api.QuantityOf[N] {
	return merge(a, b, func(_, y N) N { return y })
}

// fill returns a with defaults for resources that a lacks.
func fill[N any](a, defaults []api.QuantityOf[N]) []api.QuantityOf[N] {
	return merge(a, defaults, func(x, _ N) N { return x })
}
