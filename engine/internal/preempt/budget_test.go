package preempt

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestUse compares use with one decrement after the other.
func TestUse(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		allowed, pods := rng.Int32N(30)-10, rng.Int32N(40)
		if rng.IntN(4) == 0 {
			allowed = math.MinInt32 + rng.Int32N(20)
		}
		within, left := int32(0), allowed
		for range pods {
			if left--; left >= 0 {
				within++
			}
		}
		if got, rest := use(allowed, pods); got != within || rest != left {
			t.Errorf("%d pods use %d: %d within, %d left, want %d and %d", pods, allowed, got, rest, within, left)
		}
	}
	for _, c := range []struct{ allowed, within, left int32 }{
		{0, 0, -math.MaxInt32}, {-1, 0, math.MinInt32}, {-2, 1, math.MaxInt32}, {math.MinInt32, math.MaxInt32, 1},
		{math.MaxInt32, math.MaxInt32, 0}, {1, 1, 1 - math.MaxInt32},
	} {
		if within, left := use(c.allowed, math.MaxInt32); within != c.within || left != c.left {
			t.Errorf("as many pods as there can be use %d: %d within, %d left, want %d and %d",
				c.allowed, within, left, c.within, c.left)
		}
	}
}
