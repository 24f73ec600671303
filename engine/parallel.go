package engine

import (
	"context"

	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
)

// ParallelOptions are the options of InParallel.
type ParallelOptions[T any] = parallel.Options[T]

// InParallel computes n values on several goroutines and uses each of them on the goroutine of the caller, in ascending order of
// index unless the options say otherwise. At most a bounded number of values is computed and not used. It ends with the first error
// of a computation (in the order of use), of a use, or of the context. All its goroutines have ended when it returns.
func InParallel[T any](
	ctx context.Context, n int, o ParallelOptions[T], compute func(ctx context.Context, i int) (T, error), use func(i int, v T) error,
) error {
	return parallel.Each(ctx, n, o, compute, use)
}
