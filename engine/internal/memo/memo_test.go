package memo_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/internal/memo"
)

func TestOneValuePerKey(t *testing.T) {
	m := memo.New[int, *string](1 << 20)
	var computed atomic.Int64
	var seen [50]sync.Map
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for key := range seen {
				v := m.Get(key, func() (*string, int64, bool) {
					s := fmt.Sprint(key, computed.Add(1))
					return &s, 8, true
				})
				seen[key].Store(v, true)
			}
		})
	}
	wg.Wait()
	for key := range seen {
		distinct := 0
		seen[key].Range(func(any, any) bool { distinct++; return true })
		if distinct != 1 {
			t.Errorf("key %d had %d values", key, distinct)
		}
	}
}

func TestLimit(t *testing.T) {
	m := memo.New[int, int](2999)
	computed := 0
	for range 3 {
		for key := range 3 {
			if v := m.Get(key, func() (int, int64, bool) { computed++; return key, 1000, true }); v != key {
				t.Errorf("Get(%d) = %d", key, v)
			}
		}
	}
	if computed != 2+3 {
		t.Errorf("computed %d times: two keys fit and are computed once, the third each time", computed)
	}
}

func TestIncompleteIsForgotten(t *testing.T) {
	m := memo.New[int, int](1000)
	if v := m.Get(1, func() (int, int64, bool) { return 7, 1, false }); v != 7 {
		t.Errorf("Get = %d", v)
	}
	if v := m.Get(1, func() (int, int64, bool) { return 8, 1, true }); v != 8 {
		t.Errorf("an incomplete value was remembered: %d", v)
	}
}

// Entries are found in lists and in the maps that full lists become.
func TestManyEntries(t *testing.T) {
	const entries = 10_000 // several maps in each table
	m := memo.New[int, int](math.MaxInt64)
	for i := range entries {
		m.Keep(i, 2*i, 1)
		if again := m.Keep(i, 0, 1); again != 2*i {
			t.Fatalf("%d: %d is kept", i, again)
		}
	}
	carried := memo.New[int, int](math.MaxInt64)
	carried.Carry(m, func(key int) bool { return key%2 == 0 }, func(int) int64 { return 1 })
	for i := range entries {
		if v, ok := m.Load(i); !ok || v != 2*i {
			t.Fatalf("%d: %d, %t", i, v, ok)
		}
		if v, ok := carried.Load(i); ok != (i%2 == 0) || ok && v != 2*i {
			t.Fatalf("%d carried: %d, %t", i, v, ok)
		}
	}
	if carried.Taken() != m.Taken()/2 {
		t.Errorf("%d bytes, %d of carried ones", m.Taken(), carried.Taken())
	}
}
