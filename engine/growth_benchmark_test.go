//go:build unix

package engine_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"
)

// growing measures the processor time of one workload in ascending sizes.
type growing struct {
	b     *testing.B
	sizes []int
	took  []time.Duration
	check func() // compares the answer of the last size
}

// measure runs the workload in each size. prepare returns what is measured, and sets check.
func (g *growing) measure(prepare func(size int) func()) {
	if g.took == nil {
		g.took = make([]time.Duration, len(g.sizes))
	}
	for i, size := range g.sizes {
		run := prepare(size)
		runtime.GC()
		before := processorTime()
		run()
		g.took[i] += processorTime() - before
		g.check()
	}
}

// report reports the processor time by size, and the exponent between the first and the last one.
func (g *growing) report() {
	for i, size := range g.sizes {
		g.b.ReportMetric(g.took[i].Seconds()/float64(g.b.N), fmt.Sprintf("cpu-s/%d", size))
	}
	last := len(g.sizes) - 1
	g.b.ReportMetric(math.Log(g.took[last].Seconds()/g.took[0].Seconds())/math.Log(float64(g.sizes[last])/float64(g.sizes[0])), "exponent")
	g.b.ReportMetric(0, "ns/op")
}
