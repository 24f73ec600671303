//go:build !race

// Package raced tells tests whether the race detector watches them: with it code takes ten times as long and allocates otherwise.
package raced

// Detector reports whether the race detector is on.
const Detector = false
