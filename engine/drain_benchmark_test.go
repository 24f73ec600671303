//go:build unix

package engine_test

import (
	"fmt"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// controlledCluster is bigCluster with controllers that create evicted pods again.
func controlledCluster(nodes int) *api.Cluster {
	c := bigCluster(nodes, true)
	for i, t := range c.Templates {
		t.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: fmt.Sprint("app-", i)}
	}
	return c
}

// BenchmarkDrain drains each node of bigCluster alone, and then all of a tenth of them together. A sample of the answers is
// compared with answers that evaluate every node for every pod.
func BenchmarkDrain(b *testing.B) {
	for _, nodes := range []int{1000} {
		c := compiled(b, controlledCluster(nodes))
		for _, mode := range []engine.DrainMode{engine.DrainEach, engine.DrainTogether} {
			b.Run(fmt.Sprintf("nodes=%d/pods=%d/mode=%d", nodes, nodes*bigPodsPerNode, mode), func(b *testing.B) {
				o := engine.DrainOptions{Profile: api.Kube137(), Mode: mode, Moves: true}
				sample := o
				for i := 0; i < nodes; i += 10 {
					sample.Nodes = append(sample.Nodes, uint32(i))
				}
				if mode == engine.DrainTogether {
					o.Nodes = sample.Nodes
				}
				sample.Scan = true
				want, _ := drains(b, c, sample)
				for b.Loop() {
					got, sum := drains(b, c, o)
					compared := got
					if mode == engine.DrainEach {
						compared = compared[:0:0]
						for i := 0; i < nodes; i += 10 {
							compared = append(compared, got[i])
						}
					}
					b.StopTimer()
					if diff := gocmp.Diff(want, compared); diff != "" {
						b.Fatal(diff)
					}
					b.ReportMetric(float64(placedIn(got)), "placed")
					b.ReportMetric(float64(sum.Drained), "drained")
					b.StartTimer()
				}
			})
		}
	}
}

// BenchmarkDrainGrowth drains each node alone of three clusters, each with twice as many nodes as the one before, and reports the
// exponent with which the processor time grows. A sample of the answers is compared with answers that evaluate every node for every
// pod.
func BenchmarkDrainGrowth(b *testing.B) {
	growth := growing{b: b, sizes: []int{625, 1250, 2500}}
	for b.Loop() {
		growth.measure(func(nodes int) func() {
			c := compiled(b, controlledCluster(nodes))
			o := engine.DrainOptions{Profile: api.Kube137(), Mode: engine.DrainEach, Moves: true}
			sample := o
			for i := 0; i < nodes; i += 250 {
				sample.Nodes = append(sample.Nodes, uint32(i))
			}
			var got []*verdict.Drain
			growth.check = func() {
				sample.Scan = true
				want, _ := drains(b, c, sample)
				for i, w := range want {
					if diff := gocmp.Diff(w, got[sample.Nodes[i]]); diff != "" {
						b.Fatal(diff)
					}
				}
			}
			return func() { got, _ = drains(b, c, o) }
		})
	}
	growth.report()
}

func placedIn(all []*verdict.Drain) (placed int) {
	for _, d := range all {
		placed += d.Placed
	}
	return placed
}
