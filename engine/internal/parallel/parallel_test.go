package parallel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
)

func square(_ context.Context, i int) (int, error) { return i * i, nil }

// TestEach computes values with several numbers of workers, in order and out of it, with results that are large and not.
func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 1000} {
		for _, workers := range []int{0, 1, 2, 5} {
			for _, unordered := range []bool{false, true} {
				t.Run(fmt.Sprint(n, "/", workers, "/", unordered), func(t *testing.T) {
					var got []int
					large := func(v int) bool { return v%3 == 0 }
					o := parallel.Options[int]{Workers: workers, Unordered: unordered, Large: large}
					err := parallel.Each(t.Context(), n, o, square, func(i, v int) error {
						if v != i*i {
							t.Errorf("%d is used as the square of %d", v, i)
						}
						got = append(got, i)
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
					if unordered {
						slices.Sort(got)
					}
					if len(got) != n || !slices.IsSorted(got) || len(slices.Compact(got)) != n {
						t.Errorf("used in the order %v", got)
					}
				})
			}
		}
	}
}

// TestEachEndsWithTheFirstError lets several computations fail, later ones sooner.
func TestEachEndsWithTheFirstError(t *testing.T) {
	for range 50 {
		used := 0
		err := parallel.Each(t.Context(), 100, parallel.Options[int]{Workers: 4}, func(_ context.Context, i int) (int, error) {
			if i == 7 {
				runtime.Gosched()
			}
			if i >= 7 {
				return 0, fmt.Errorf("error of %d", i)
			}
			return i, nil
		}, func(int, int) error { used++; return nil })
		if err == nil || err.Error() != "error of 7" || used != 7 {
			t.Fatalf("%v after %d values", err, used)
		}
	}
}

// TestEachIsBounded uses nothing until as many values are computed as may be, and expects no more.
func TestEachIsBounded(t *testing.T) {
	const workers = 3
	var begun atomic.Int64
	most := int64(0)
	err := parallel.Each(t.Context(), 500, parallel.Options[int]{Workers: workers}, func(_ context.Context, i int) (int, error) {
		begun.Add(1)
		return i, nil
	}, func(i, _ int) error {
		runtime.Gosched()
		most = max(most, begun.Load()-int64(i))
		return nil
	})
	if err != nil || most > 8*workers {
		t.Errorf("%v, %d values were begun and not used", err, most)
	}
}

// TestEachEnds lets use fail, and the context end, while computations wait for it.
func TestEachEnds(t *testing.T) {
	enough := errors.New("enough")
	var running atomic.Int64
	wait := func(ctx context.Context, i int) (int, error) {
		running.Add(1)
		defer running.Add(-1)
		if i > 0 {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return 0, nil
	}
	for _, unordered := range []bool{false, true} {
		o := parallel.Options[int]{Workers: 4, Unordered: unordered}
		if err := parallel.Each(t.Context(), 100, o, wait, func(int, int) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("use fails: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := parallel.Each(ctx, 100, o, wait, func(int, int) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("the context ends: %v", err)
		}
		if n := running.Load(); n > 0 {
			t.Errorf("%d computations still run", n)
		}
	}
}

// TestEachPanics expects the panic of a computation in the caller's goroutine.
func TestEachPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_ = parallel.Each(t.Context(), 10, parallel.Options[int]{Workers: 2}, func(_ context.Context, i int) (int, error) {
		if i == 5 {
			panic("five")
		}
		return i, nil
	}, func(int, int) error { return nil })
}
