package speed

import (
	"math"
	"testing"
	"time"
)

func TestExponent(t *testing.T) {
	sizes := []int{100, 200, 400}
	times := []timing{{time.Second, time.Second}, {2 * time.Second, 4 * time.Second}, {4 * time.Second, 16 * time.Second}}
	wall := exponent(sizes, times, func(t timing) time.Duration { return t.wall })
	cpu := exponent(sizes, times, func(t timing) time.Duration { return t.cpu })
	if math.Abs(wall-1) > 1e-9 || math.Abs(cpu-2) > 1e-9 {
		t.Errorf("exponents %v and %v, want 1 and 2", wall, cpu)
	}
}
