package pagedmap_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/internal/pagedmap"
)

// TestMap changes maps that are derived from one another, and compares each of them with a map of Go.
func TestMap(t *testing.T) {
	type pair struct {
		m    *pagedmap.Map[string, int]
		want map[string]int
	}
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		all := []pair{{new(pagedmap.Map[string, int]), map[string]int{}}}
		for range 1 + rng.IntN(8) {
			of := all[rng.IntN(len(all))]
			derived := of.m.Derive()
			next := pair{&derived, maps.Clone(of.want)}
			for range rng.IntN(200) {
				key := fmt.Sprint(rng.IntN(150))
				if rng.IntN(3) == 0 {
					next.m.Delete(key)
					delete(next.want, key)
				} else {
					v := 1 + rng.IntN(9)
					next.m.Set(key, v)
					next.want[key] = v
				}
			}
			all = append(all, next)
		}
		for i, of := range all {
			if of.m.Len() != len(of.want) {
				t.Errorf("seed %d: map %d has %d entries, want %d", seed, i, of.m.Len(), len(of.want))
			}
			for n := range 150 {
				if key := fmt.Sprint(n); of.m.Get(key) != of.want[key] {
					t.Errorf("seed %d: map %d has %d at %s, want %d", seed, i, of.m.Get(key), key, of.want[key])
				}
			}
		}
	}
}
