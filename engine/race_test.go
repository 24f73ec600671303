//go:build race

package engine_test

func init() { raceDetector = true }
