package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// BenchmarkChanges looks for changes for pods without feasible nodes in Big.
func BenchmarkChanges(b *testing.B) {
	const zone, host = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
	pods := map[string]*enginetest.Pod{
		"cpu":              enginetest.MakePod("new").Request("cpu", 63_000, "memory", 100<<30),
		"zoneAntiAffinity": enginetest.MakePod("new").AntiAffinity(zone, enginetest.Selects("tier", "tier-1")),
		"hostAntiAffinity": enginetest.MakePod("new").AntiAffinity(host, &api.LabelSelector{}),
		"spread": enginetest.MakePod("new").Label("tier", "tier-1").Request("cpu", 63_000).
			Spread(zone, 1, enginetest.Selects("tier", "tier-1")).
			Spread("example.com/rack", 1, enginetest.Selects("tier", "tier-1")),
		"rackAntiAffinity": enginetest.MakePod("new").AntiAffinity("example.com/rack", &api.LabelSelector{}),
		"selector":         enginetest.MakePod("new").Affinity(zone, enginetest.Selects("app", "unmatched")),
	}
	for _, nodes := range []int{5_000, 50_000} {
		c := compiled(b, bigCluster(nodes, true))
		for name, p := range pods {
			for _, changes := range []bool{false, true} {
				b.Run(fmt.Sprintf("nodes=%d/pods=%d/case=%s/changes=%t", nodes, nodes*30, name, changes), func(b *testing.B) {
					for b.Loop() {
						f, err := c.Filter(b.Context(), &p.Pod, engine.FilterOptions{Profile: api.Kube137(), Changes: changes})
						if err != nil {
							b.Fatal(err)
						}
						if len(f.Feasible) > 0 || changes && len(f.Changes) == 0 {
							b.Fatalf("%d nodes take it, %d changes", len(f.Feasible), len(f.Changes))
						}
						b.ReportMetric(float64(len(f.Changes)), "changes")
					}
				})
			}
		}
	}
}
