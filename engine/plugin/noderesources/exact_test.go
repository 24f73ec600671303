package noderesources

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/stowage-scheduler/stowage/engine/plugin"
)

// TestFree compares dividing floats with dividing integers, above all where a quotient is close to an integer.
func TestFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allocatable := rapid.OneOf(
			rapid.Int64Range(1, 1000), rapid.Int64Range(1, maxExact), rapid.Int64Range(maxExact-1000, maxExact+1000),
		).Draw(t, "allocatable")
		percent := rapid.Int64Range(0, 100).Draw(t, "percent")
		left := min(max(allocatable/100*percent+allocatable%100*percent/100+rapid.Int64Range(-2, 2).Draw(t, "off"), 0), allocatable)
		if got, want := free(allocatable, allocatable-left), left*plugin.MaxScore/allocatable; got != want {
			t.Errorf("%d of %d is free: %d%%, want %d%%", left, allocatable, got, want)
		}
	})
	if free(0, 0) != 0 || free(10, 11) != 0 {
		t.Error("nothing is free where nothing is left")
	}
}

// TestSpecialLoops compares the loops for two usual resources with those for any.
func TestSpecialLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, 50)
		columns := make([]column, 2)
		for i := range columns {
			columns[i] = column{weight: 1, request: amount.Draw(t, "request"), allocatable: []int64{amount.Draw(t, "allocatable")}, allocated: []int64{amount.Draw(t, "allocated")}}
		}
		scores := make([]int64, 1)
		leastAllocatedOfTwo(&columns[0], &columns[1], []uint32{0}, scores)
		if want := leastAllocated(columns, 0); scores[0] != want {
			t.Errorf("least allocated: %d, want %d", scores[0], want)
		}
		a, b := &columns[0], &columns[1]
		if a.allocatable[0] != 0 && b.allocatable[0] != 0 {
			got := evennessOfTwo(a.allocated[0], a.allocatable[0], b.allocated[0], b.allocatable[0])
			if want := evenness(columns, 0, false, nil); got != want {
				t.Errorf("evenness: %d, want %d", got, want)
			}
		}
	})
}
