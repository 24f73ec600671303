package nodeset_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
)

// TestAgainstMap compares every operation with one on maps.
func TestAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		draw := func(name string) (nodeset.Set, map[uint32]bool) {
			m := make(map[uint32]bool)
			for _, i := range rapid.SliceOf(rapid.Uint32Range(0, uint32(n-1))).Draw(t, name) {
				m[i] = true
			}
			var list []uint32
			for i := range m {
				list = append(list, i)
			}
			return nodeset.Of(n, list), m
		}
		a, ma := draw("a")
		b, mb := draw("b")
		check := func(op string, got nodeset.Set, want func(uint32) bool) {
			var list []uint32
			for i := range uint32(n) {
				if want(i) {
					list = append(list, i)
				}
				if got.Has(i) != want(i) {
					t.Errorf("%s: Has(%d) = %v", op, i, got.Has(i))
				}
			}
			if !slices.Equal(got.Indexes(), list) || got.Len() != len(list) || got.Empty() != (len(list) == 0) {
				t.Errorf("%s: %v, want %v", op, got.Indexes(), list)
			}
		}
		and, or := a.Clone(), a.Clone()
		and.And(b)
		or.Or(b)
		check("and", and, func(i uint32) bool { return ma[i] && mb[i] })
		check("or", or, func(i uint32) bool { return ma[i] || mb[i] })
		check("minus", a.Minus(b), func(i uint32) bool { return ma[i] && !mb[i] })
		check("full minus", nodeset.Full(n).Minus(a), func(i uint32) bool { return !ma[i] })
		check("unchanged", a, func(i uint32) bool { return ma[i] })
	})
}
