package engine_test

import "testing"

// raceDetector is whether the tests are built with the race detector, which makes them about ten times slower.
var raceDetector bool

// cases returns how many of n random cases a test tries: all of them, fewer with -short or with the race detector.
func cases(n int) int {
	switch {
	case raceDetector && testing.Short():
		return n / 80
	case testing.Short():
		return n / 30
	case raceDetector:
		return n / 10
	}
	return n
}

// allCases is true where cases cuts none off: what occurs in some of them only may be demanded.
func allCases() bool { return !raceDetector && !testing.Short() }
