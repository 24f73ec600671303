package requests

import (
	"cmp"
	"math/bits"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// int128 is an unsigned number of 128 bits.
type int128 struct{ high, low uint64 }

// wide is for pods whose sums may exceed 64 bits.
var wide = arithmetic[int128]{
	of: func(r api.Resources) []api.QuantityOf[int128] {
		out := make([]api.QuantityOf[int128], len(r))
		for i, q := range r {
			out[i] = api.QuantityOf[int128]{Resource: q.Resource, Amount: int128{low: uint64(q.Amount)}}
		}
		return out
	},
	plus: func(x, y int128) int128 {
		low, carry := bits.Add64(x.low, y.low, 0)
		return int128{x.high + y.high + carry, low}
	},
	most: func(x, y int128) int128 {
		if cmp.Or(cmp.Compare(x.high, y.high), cmp.Compare(x.low, y.low)) < 0 {
			return y
		}
		return x
	},
}

// lowest returns the lowest 64 bits of amounts, as a quantity's Value does
// (k8s.io/apimachinery/pkg/api/resource/scale_int.go scaledValue, v0.37). For quantities that all have decimal
// suffixes, such as 9E and 9E, Value returns 0 instead; requests do not have the suffixes.
func lowest(r []api.QuantityOf[int128]) api.Resources {
	out := make(api.Resources, len(r))
	for i, q := range r {
		out[i] = api.Quantity{Resource: q.Resource, Amount: int64(q.Amount.low)}
	}
	return out
}

// At most mostNarrow amounts of up to largeBits bits add up to less than 2^63.
const (
	largeBits  = 48
	mostNarrow = 1 << 14
)

// large reports whether the sums of a pod may exceed an int64.
func large(spec *api.PodSpec, status *api.PodResourceStatus) bool {
	var all uint64
	n := 0
	look := func(r api.Resources) {
		for i := range r {
			all |= uint64(r[i].Amount)
		}
		n += len(r)
	}
	look(spec.Requests)
	look(spec.Overhead)
	for i := range spec.Containers {
		look(spec.Containers[i].Requests)
	}
	for i := range spec.InitContainers {
		look(spec.InitContainers[i].Requests)
	}
	if status != nil {
		look(status.Allocated)
		look(status.Actuated)
		for i := range status.Containers {
			look(status.Containers[i].Allocated)
			look(status.Containers[i].Actuated)
		}
	}
	return all>>largeBits != 0 || n > mostNarrow
}
