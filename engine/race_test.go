//go:build race

package engine_test

func init() { slowdown = 10 }
