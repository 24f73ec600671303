//go:build unix

package engine_test

import (
	"context"
	"reflect"
	"runtime"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/parallel"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// BenchmarkWhatIf answers 1,000 scenarios of the big cluster with 1,000 nodes and 30,000 pods. In each, another node is
// drained, with one processor and with two. It compares the answers of both, and some with Place on the rebuilt cluster.
func BenchmarkWhatIf(b *testing.B) {
	stated := bigCluster(1000, true)
	for _, p := range stated.Templates {
		p.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: "set"}
	}
	for how, change := range map[string]func(*engine.Scenario, uint32){
		"drained": func(s *engine.Scenario, node uint32) {
			s.Cordoned, s.Evictions, s.Requeue = []uint32{node}, []engine.NodeEvictions{{Node: node, Drained: true}}, true
		},
		"terminating": func(s *engine.Scenario, node uint32) {
			s.Cordoned, s.Evictions, s.Requeue = []uint32{node}, []engine.NodeEvictions{{Node: node, Drained: true}}, true
			s.Terminating = true
		},
		"removed": func(s *engine.Scenario, node uint32) {
			s.Evictions, s.Requeue = []engine.NodeEvictions{{Node: node, Drained: true}}, true
			s.Removed = []uint32{node}
		},
	} {
		b.Run(how, func(b *testing.B) {
			c := compiled(b, stated)
			scenarios := make([]engine.Scenario, len(stated.Nodes))
			for i := range scenarios {
				change(&scenarios[i], uint32(i))
			}
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
			answers := make([][]*verdict.WhatIf, 3) // by number of processors
			took, cpu := make([]time.Duration, 3), make([]time.Duration, 3)
			var before, after runtime.MemStats
			for b.Loop() {
				for _, processors := range []int{1, 2} {
					runtime.GOMAXPROCS(processors)
					runtime.GC()
					runtime.ReadMemStats(&before)
					clock := start()
					answers[processors] = whatIfs(b, c, scenarios)
					took[processors] += time.Since(clock.wall)
					cpu[processors] += processorTime() - clock.cpu
					runtime.ReadMemStats(&after)
				}
			}
			if !reflect.DeepEqual(answers[1], answers[2]) {
				b.Error("other answers with two processors")
			}
			for i := 0; i < len(scenarios); i += 111 {
				want := statedAfter(b, stated, &scenarios[i], engine.WhatIfOptions{Profile: api.Kube137()})
				got := *answers[1][i]
				withoutScans(&got.Place)
				if !reflect.DeepEqual(want, &got) {
					b.Errorf("scenario %d (-stated +derived):\n%s", i, gocmp.Diff(want, &got))
				}
			}
			b.ReportMetric(took[1].Seconds()/took[2].Seconds(), "x-one-core")
			b.ReportMetric(cpu[2].Seconds()/float64(b.N*len(scenarios))*1e3, "cpu-ms/scenario")
			b.ReportMetric(took[1].Seconds()/float64(b.N*len(scenarios))*1e3, "ms/scenario-one-core")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(len(scenarios))/1024, "KiB/scenario")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func whatIfs(b *testing.B, c *engine.Cluster, scenarios []engine.Scenario) []*verdict.WhatIf {
	answers := make([]*verdict.WhatIf, len(scenarios))
	compute := func(ctx context.Context, i int) (*verdict.WhatIf, error) {
		return c.WhatIf(ctx, &scenarios[i], engine.WhatIfOptions{Profile: api.Kube137()})
	}
	use := func(i int, w *verdict.WhatIf) error {
		answers[i] = w
		return nil
	}
	if err := parallel.Each(b.Context(), len(scenarios), parallel.Options[*verdict.WhatIf]{}, compute, use); err != nil {
		b.Fatal(err)
	}
	return answers
}
