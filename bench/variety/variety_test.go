package variety_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/bench/loopback"
	"github.com/stowage-scheduler/stowage/bench/variety"
)

// compiled returns a workload of a size.
func compiled(tb testing.TB, k variety.Kind, size variety.Size) *variety.Compiled {
	tb.Helper()
	c, err := k.Make(size).Compile(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// placed returns the nodes of the first pods.
func placed(tb testing.TB, c *variety.Compiled, pods int, scan bool) []uint32 {
	tb.Helper()
	place, err := c.Placer(tb.Context(), pods, scan)
	if err != nil {
		tb.Fatal(err)
	}
	nodes, err := place()
	if err != nil {
		tb.Fatal(err)
	}
	return nodes
}

// TestKinds places each workload, and once more with each node evaluated for each pod.
func TestKinds(t *testing.T) {
	kinds := append([]variety.Kind{{Name: "remedies", Make: variety.Remedies}, {Name: "joint", Make: variety.Joint}}, variety.Kinds...)
	for _, k := range kinds {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			size := variety.Size{Nodes: 120, Pods: 400}
			if k.Name == "remedies" || k.Name == "joint" {
				size = variety.Size{Nodes: 60, Pods: 20}
			}
			c := compiled(t, k, size)
			got := placed(t, c, size.Pods, false)
			if want := placed(t, c, size.Pods, true); !slices.Equal(got, want) {
				t.Errorf("nodes %v, with each node evaluated %v", got, want)
			}
		})
	}
}

// BenchmarkPlace places each workload of 10,000 pods on 5,000 nodes, for profiles. `make bench` has the same rows with thresholds.
func BenchmarkPlace(b *testing.B) {
	for _, k := range variety.Kinds {
		size := variety.Size{Nodes: 5_000, Pods: 10_000}
		b.Run(fmt.Sprintf("kind=%s/nodes=%d", k.Name, size.Nodes), func(b *testing.B) {
			c := compiled(b, k, size)
			placed(b, c, size.Pods, false)
			b.ReportAllocs()
			before := loopback.CPUTime()
			b.ResetTimer()
			for b.Loop() {
				placed(b, c, size.Pods, false)
			}
			pods := float64(size.Pods * b.N)
			b.ReportMetric(pods/b.Elapsed().Seconds(), "pods/s")
			b.ReportMetric(pods/(loopback.CPUTime()-before).Seconds(), "pods/cpu-s")
		})
	}
}
