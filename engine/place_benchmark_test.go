//go:build unix

package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// BenchmarkPlace places queues of 10,000 pods on the big cluster, all plugins on, and compares the first of them with
// what scanning every node for each pod places, in nodes and in time.
//
// The clusters of 500,000 nodes take some 6 GB.
func BenchmarkPlace(b *testing.B) {
	for _, bench := range []struct {
		nodes, templates int
		racks            bool // spread over 1,250 racks in addition to zones
		sample           int  // pods to scan for
		nominated        int  // nodes with a nominated pod
		fewestPods       bool
	}{
		{5000, 1, false, 1000, 0, false},
		{5000, 100, false, 1000, 0, false},
		{50_000, 100, false, 200, 0, false},
		{500_000, 100, false, 20, 0, false},
		{5000, 1, true, 1000, 0, false},
		{5000, 100, true, 1000, 0, false},
		{5000, 100, false, 1000, 20, false},
		{5000, 1, false, 1000, 0, true},
		{5000, 100, false, 1000, 0, true},
	} {
		name := fmt.Sprintf("nodes=%d/templates=%d/racks=%t", bench.nodes, bench.templates, bench.racks)
		if bench.nominated > 0 {
			name += fmt.Sprint("/nominated=", bench.nominated)
		}
		if bench.fewestPods {
			name += "/fewest-pods"
		}
		b.Run(name, func(b *testing.B) {
			ctx := context.Background()
			stated := bigCluster(bench.nodes, true)
			for i := range stated.Nodes {
				n := &stated.Nodes[i]
				n.Labels = n.Labels.With(api.Labels{{Key: "example.com/small-rack", Value: fmt.Sprint("rack-", i%1250)}})
			}
			stated.Nodes[0].Pods = append(stated.Nodes[0].Pods, enginetest.MakePod("noise").Label("noise", "yes").Pod)
			for i := range bench.nominated {
				n := &stated.Nodes[i*bench.nodes/bench.nominated]
				n.Nominated = append(n.Nominated, enginetest.MakePod(fmt.Sprint("nominated-", i)).Request("cpu", 1000*(i%8)).Pod)
			}
			c := compiled(b, stated)
			queue := benchmarkQueue(stated, bench.templates, bench.racks)
			runtime.GC() // before time is taken
			o := engine.PlaceOptions{Profile: api.Kube137(), FewestPods: bench.fewestPods}
			scanning := start()
			want, err := c.PlaceByScanning(ctx, queue[:bench.sample], o)
			if err != nil {
				b.Fatal(err)
			}
			scanningWall, scanningCPU := scanning.perPod(bench.sample)
			placing := start()
			for b.Loop() {
				got, err := c.Place(ctx, queue, o)
				if err != nil {
					b.Fatal(err)
				}
				for i, p := range got.Placements {
					if i < len(want) && !slices.Equal(p.Nodes, want[i].Nodes) || p.Unplaced > 0 || p.Scanned > 0 {
						b.Fatalf("pod %d: %+v, by scanning %+v", i, p, want[min(i, len(want)-1)])
					}
				}
			}
			wall, cpu := placing.perPod(b.N * len(queue))
			b.ReportMetric(1/wall, "pods/s")
			b.ReportMetric(scanningWall/wall, "x-scanning")
			b.ReportMetric(1/cpu, "pods/cpu-s")
			b.ReportMetric(scanningCPU/cpu, "x-scanning-cpu")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkPlaceSurge places 25,000 pairs of pods, each a template of its own that keeps its pods apart, on 5,000 nodes with room for
// them all.
func BenchmarkPlaceSurge(b *testing.B) {
	const nodes, perNode, sample = 5000, 10, 200
	for _, key := range []string{hostname, zone} {
		b.Run(key, func(b *testing.B) {
			stated := &api.Cluster{}
			for i := range nodes {
				name := fmt.Sprint("node-", i)
				stated.Nodes = append(stated.Nodes, enginetest.MakeNode(name).Label(hostname, name).Label(zone, fmt.Sprint("zone-", i/50%3)).
					Allocate("cpu", 10_000, "memory", 64<<30, "pods", 110).Node)
			}
			c := compiled(b, stated)
			var queue []engine.Pending
			for i := range nodes * perNode / 2 {
				app := fmt.Sprint("app-", i)
				p := enginetest.MakePod("").Label("app", app).Request("cpu", 1000, "memory", 6<<30).AntiAffinity(key, enginetest.Selects("app", app))
				queue = append(queue, engine.Pending{Pod: p.Pod, Count: 2})
			}
			o := engine.PlaceOptions{Profile: api.Kube137()}
			want, err := c.PlaceByScanning(b.Context(), queue[:sample], o)
			if err != nil {
				b.Fatal(err)
			}
			placing := start()
			for b.Loop() {
				got, err := c.Place(b.Context(), queue, o)
				if err != nil {
					b.Fatal(err)
				}
				for i, p := range got.Placements {
					if i < len(want) && !slices.Equal(p.Nodes, want[i].Nodes) || p.Unplaced > 0 {
						b.Fatalf("pod %d: %+v, by scanning %+v", i, p, want[min(i, len(want)-1)])
					}
				}
			}
			_, cpu := placing.perPod(b.N * 2 * len(queue))
			b.ReportMetric(1/cpu, "pods/cpu-s")
		})
	}
}

// stopwatch measures time on the clock, and processor time of the whole process, garbage collector included, which other
// processes matter less to.
type stopwatch struct {
	wall time.Time
	cpu  time.Duration
}

func start() stopwatch { return stopwatch{time.Now(), processorTime()} }

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perPod returns the seconds since the start for each of a number of pods.
func (s stopwatch) perPod(pods int) (wall, cpu float64) {
	return time.Since(s.wall).Seconds() / float64(pods), (processorTime() - s.cpu).Seconds() / float64(pods)
}

// benchmarkQueue returns pods of templates in random order.
func benchmarkQueue(stated *api.Cluster, templates int, racks bool) []engine.Pending {
	rng := rand.New(rand.NewPCG(1, 2))
	var of []*api.PodTemplate
	for i := range templates {
		existing := stated.Templates[i+2]
		app, _ := existing.Labels.Get("app")
		p := enginetest.MakePod("").Namespace(existing.Namespace).Label("app", app).Label("tier", fmt.Sprint("tier-", i%5)).
			Request("cpu", 100+50*(i%10), "memory", 256<<20)
		p.Template.Spec.Containers[0].Image = "example.com/" + app + ":v1"
		own := enginetest.Selects("app", app)
		switch {
		case templates == 1:
			p.PreferAntiAffinity(100, zone, own).SpreadSoftly(zone, 5, own).SpreadSoftly(hostname, 3, own)
		case i%6 == 0:
			p.Affinity(zone, own)
		case i%6 == 3:
			p.AntiAffinity(zone, enginetest.Selects("noise", "yes"))
		case i%3 == 1:
			p.Spread(zone, 5, own).SpreadSoftly(hostname, 3, own)
		}
		if racks && i%3 <= 1 {
			p.SpreadSoftly("example.com/small-rack", 1, own)
		}
		of = append(of, p.Template)
	}
	queue := make([]engine.Pending, 10_000)
	for i := range queue {
		queue[i] = engine.Pending{Pod: api.Pod{Template: of[rng.IntN(len(of))], TemplateIndex: -1}, Count: 1}
	}
	return queue
}
