package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// BenchmarkSchedule places queues as kube-scheduler's: one that fits, to compare with placing it in order, and some in which each
// pod preempts, to compare with a new search for the victims of each pod.
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

// BenchmarkScheduleGroups places pod groups of 20 pods as kube-scheduler's queue does: some that fit, some that each preempt on full
// nodes with 30 pods each, and pods without a group beside them.
func BenchmarkScheduleGroups(b *testing.B) {
	const size = 20
	groups := func(n, cpu int, priority int32) (queue []engine.Pending, of []engine.PodGroup) {
		for i := range n {
			p := enginetest.MakePod("gang").Label("app", "gang").Request("cpu", cpu).Priority(priority)
			queue = append(queue, engine.Pending{Pod: p.Pod, Count: size})
			of = append(of, engine.PodGroup{Name: fmt.Sprint("gang-", i), Entries: []int{i}, Priority: &priority})
		}
		return queue, of
	}
	for _, bench := range []struct {
		name              string
		stated            *api.Cluster
		groups, alone     int
		cpu               int
		priority          int32
		placed, evictions int
	}{
		{"fit", bigCluster(1000, true), 500, 0, 100, 0, 10_000, 0},
		{"preempt", fullCluster(1000, true), 50, 0, 1000, 10, 1000, 50},
		{"preempt beside pods", fullCluster(1000, true), 25, 500, 1000, 10, 1000, 525},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := compiled(b, bench.stated)
			queue, of := groups(bench.groups, bench.cpu, bench.priority)
			for range bench.alone {
				p := enginetest.MakePod("p").Label("app", "gang").Request("cpu", bench.cpu).Priority(bench.priority)
				queue = append(queue, engine.Pending{Pod: p.Pod, Count: 1})
			}
			o := engine.PlaceOptions{Profile: api.Kube137(), Scheduler: true, Groups: of}
			for b.Loop() {
				got, err := c.Place(b.Context(), queue, o)
				if err != nil {
					b.Fatal(err)
				}
				placed := 0
				for i := range got.Placements {
					placed += len(got.Placements[i].Nodes)
				}
				if placed != bench.placed || len(got.Evictions) != bench.evictions {
					b.Fatalf("%d of %d placed, %d evictions, want %d", placed, bench.placed, len(got.Evictions), bench.evictions)
				}
			}
		})
	}
}
