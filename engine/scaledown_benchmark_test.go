package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// BenchmarkScaleDown deletes half of a workload's replicas, of Big with one of them on every fourth node.
func BenchmarkScaleDown(b *testing.B) {
	for _, nodes := range []int{5_000, 20_000} {
		stated := bigCluster(nodes, true)
		web := enginetest.MakePod("next").Label("web", "yes").Request("cpu", 100).
			PreferAntiAffinity(100, "topology.kubernetes.io/zone", enginetest.Selects("web", "yes")).
			Spread("example.com/rack", 2, enginetest.Selects("web", "yes"))
		for i := 0; i < nodes; i += 4 {
			stated.Nodes[i].PodCounts = append(stated.Nodes[i].PodCounts, api.PodCount{Template: len(stated.Templates), Count: 1})
		}
		stated.Templates = append(stated.Templates, web.Template)
		c := compiled(b, stated)
		b.Run(fmt.Sprintf("nodes=%d/replicas=%d/case=half", nodes, nodes/4), func(b *testing.B) {
			for b.Loop() {
				down, err := c.ScaleDown(b.Context(), &web.Pod, engine.ScaleDownOptions{Profile: api.Kube137(), Replicas: nodes / 8})
				if err != nil || len(down.Remaining) != nodes/8 {
					b.Fatal(err, len(down.Remaining))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(nodes/8), "µs/deletion")
		})
	}
}
