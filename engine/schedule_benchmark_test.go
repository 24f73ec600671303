package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// BenchmarkSchedule places queues as kube-scheduler's: one that fits, to compare with placing it in order, and one in which each
// pod preempts.
func BenchmarkSchedule(b *testing.B) {
	fits := bigCluster(1000, true)
	var preempts []engine.Pending
	for i := range 1000 {
		p := enginetest.MakePod(fmt.Sprint("p-", i)).Label("app", "app-3").Request("cpu", 1000).Priority(10)
		preempts = append(preempts, engine.Pending{Pod: p.Pod, Count: 1})
	}
	for _, bench := range []struct {
		name      string
		stated    *api.Cluster
		queue     []engine.Pending
		scheduler bool
		evictions int
	}{
		{"fits in order", fits, benchmarkQueue(fits, 100, false), false, 0},
		{"fits", fits, benchmarkQueue(fits, 100, false), true, 0},
		{"preempts", fullCluster(1000, true), preempts, true, 1000},
		{"preempts once", fullCluster(1000, true), []engine.Pending{{Pod: preempts[0].Pod, Count: 1000}}, true, 1000},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := compiled(b, bench.stated)
			pods := 0
			for _, p := range bench.queue {
				pods += p.Count
			}
			for b.Loop() {
				p, err := c.Place(b.Context(), bench.queue, engine.PlaceOptions{Profile: api.Kube137(), Scheduler: bench.scheduler})
				if err != nil {
					b.Fatal(err)
				}
				placed := 0
				for i := range p.Placements {
					placed += len(p.Placements[i].Nodes)
				}
				if placed != pods || len(p.Evictions) != bench.evictions {
					b.Fatalf("%d of %d placed, %d evictions", placed, pods, len(p.Evictions))
				}
			}
		})
	}
}
