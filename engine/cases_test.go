package engine_test

import (
	"testing"

	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
)

// cases returns how many of n random cases a test tries: all of them, fewer with -short or with the race detector.
func cases(n int) int {
	switch {
	case raced.Detector && testing.Short():
		return n / 80
	case testing.Short():
		return n / 30
	case raced.Detector:
		return n / 10
	}
	return n
}

// allCases is true where cases cuts none off: what occurs in some of them only may be demanded.
func allCases() bool { return !raced.Detector && !testing.Short() }
