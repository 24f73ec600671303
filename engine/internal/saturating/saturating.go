// Package saturating calculates with integers that saturate at the highest and the lowest one. It is for sums that only
// Stowage computes. Sums that kube-scheduler computes too overflow as in kube-scheduler.
package saturating

import (
	"math"
	"math/bits"
)

// Add returns a + b.
func Add(a, b int64) int64 {
	sum := a + b
	if (a < 0) == (b < 0) && (sum < 0) != (a < 0) {
		return end(a < 0)
	}
	return sum
}

// Sub returns a - b.
func Sub(a, b int64) int64 {
	difference := a - b
	if (a < 0) != (b < 0) && (difference < 0) != (a < 0) {
		return end(a < 0)
	}
	return difference
}

// Mul returns a * b.
func Mul(a, b int64) int64 {
	negative := (a < 0) != (b < 0)
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	if high > 0 || low > math.MaxInt64 {
		return end(negative)
	}
	if negative {
		return -int64(low)
	}
	return int64(low)
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

func end(negative bool) int64 {
	if negative {
		return math.MinInt64
	}
	return math.MaxInt64
}
