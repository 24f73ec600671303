//go:build !race

// Package raced reports whether tests run with the race detector. With it, code takes ten times as long and allocates more often.
package raced

// Detector reports whether the race detector is on.
const Detector = false
