package saturating_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/internal/saturating"
)

func TestSaturating(t *testing.T) {
	values := []int64{
		0, 1, -1, 2, -2, 100, -100, 1 << 31, 1 << 32, -1 << 32, 1<<62 - 1, 1 << 62, -1 << 62,
		math.MaxInt64 / 100, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64 + 1, math.MinInt64,
	}
	bounded := func(v *big.Int) int64 {
		switch {
		case v.IsInt64():
			return v.Int64()
		case v.Sign() < 0:
			return math.MinInt64
		}
		return math.MaxInt64
	}
	for _, a := range values {
		for _, b := range values {
			x, y := big.NewInt(a), big.NewInt(b)
			if got, want := saturating.Add(a, b), bounded(new(big.Int).Add(x, y)); got != want {
				t.Errorf("%d + %d is %d, want %d", a, b, got, want)
			}
			if got, want := saturating.Sub(a, b), bounded(new(big.Int).Sub(x, y)); got != want {
				t.Errorf("%d - %d is %d, want %d", a, b, got, want)
			}
			if got, want := saturating.Mul(a, b), bounded(new(big.Int).Mul(x, y)); got != want {
				t.Errorf("%d * %d is %d, want %d", a, b, got, want)
			}
		}
	}
}
