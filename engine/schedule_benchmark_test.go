package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// BenchmarkSchedule places queues as kube-scheduler's: one that fits, to compare with placing it in order, and some in which each
// pod preempts, to compare with searching for the victims of each pod anew.
func BenchmarkSchedule(b *testing.B) {
	fits := bigCluster(1000, true)
	preempting := func(rule func(*enginetest.Pod)) (queue []engine.Pending) {
		for i := range 1000 {
			p := enginetest.MakePod(fmt.Sprint("p-", i)).Label("app", "app-3").Request("cpu", 1000).Priority(10)
			rule(p)
			queue = append(queue, engine.Pending{Pod: p.Pod, Count: 1})
		}
		return queue
	}
	preempts := preempting(func(*enginetest.Pod) {})
	own := enginetest.Selects("app", "new")
	spread := preempting(func(p *enginetest.Pod) { p.Label("app", "new").Spread("topology.kubernetes.io/zone", 5, own) })
	apart := preempting(func(p *enginetest.Pod) { p.Label("app", "new").AntiAffinity(hostname, own) })
	inOrder := engine.PlaceOptions{Profile: api.Kube137()}
	scheduler := inOrder
	scheduler.Scheduler = true
	for _, bench := range []struct {
		name      string
		stated    *api.Cluster
		queue     []engine.Pending
		o         engine.PlaceOptions
		evictions int
	}{
		{"fits in order", fits, benchmarkQueue(fits, 100, false), inOrder, 0},
		{"fits", fits, benchmarkQueue(fits, 100, false), scheduler, 0},
		{"preempts", fullCluster(1000, true), preempts, scheduler, 1000},
		{"preempts, forgetting", fullCluster(1000, true), preempts, scheduler.Forgetting(), 1000},
		{"preempts, spread", fullCluster(1000, true), spread, scheduler, 1005},
		{"preempts, spread, forgetting", fullCluster(1000, true), spread, scheduler.Forgetting(), 1005},
		{"preempts, apart", fullCluster(1000, true), apart, scheduler, 1000},
		{"preempts, apart, forgetting", fullCluster(1000, true), apart, scheduler.Forgetting(), 1000},
		{"preempts once", fullCluster(1000, true), []engine.Pending{{Pod: preempts[0].Pod, Count: 1000}}, scheduler, 1000},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := compiled(b, bench.stated)
			pods := 0
			for _, p := range bench.queue {
				pods += p.Count
			}
			for b.Loop() {
				p, err := c.Place(b.Context(), bench.queue, bench.o)
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
