//go:build unix

package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// BenchmarkFit counts how many pods fit on 5,000 nodes, and compares the answer with Place's, and the time for a pod with
// the time of a call of Score, which a caller that counts by itself makes for each pod.
func BenchmarkFit(b *testing.B) {
	stated := bigCluster(5000, true)
	c := compiled(b, stated)
	own := enginetest.Selects("app", "new")
	small := func() *enginetest.Pod {
		return enginetest.MakePod("new").Label("app", "new").Request("cpu", 1200, "memory", 1<<30)
	}
	for name, mix := range map[string][]engine.Pending{
		"one":    {pending(1, small())},
		"spread": {pending(1, small().SpreadSoftly(zone, 1, own).PreferAntiAffinity(100, hostname, own))},
		"mix":    {pending(3, small()), pending(1, enginetest.MakePod("db").Label("app", "db").Request("cpu", 2500, "memory", 8<<30))},
	} {
		for _, key := range []string{"", zone, hostname} {
			b.Run(fmt.Sprintf("nodes=5000/mix=%s/by=%s", name, key), func(b *testing.B) {
				o := engine.FitOptions{Profile: api.Kube137(), Units: 1e6, TopologyKey: key}
				const calls = 100
				scoring := start()
				for range calls {
					if _, err := c.Score(b.Context(), &mix[0].Pod, engine.ScoreOptions{Profile: o.Profile, TotalsOnly: true}); err != nil {
						b.Fatal(err)
					}
				}
				_, score := scoring.perPod(calls)
				pods, total := 0, 0.0
				for b.Loop() {
					counting := start()
					got, err := c.Fit(b.Context(), mix, o)
					if err != nil {
						b.Fatal(err)
					}
					b.StopTimer()
					_, cpu := counting.perPod(1)
					total += cpu
					pods = checkFit(b, c, mix, got)
					b.StartTimer()
				}
				b.ReportMetric(float64(pods), "pods")
				b.ReportMetric(total/float64(b.N), "cpu-s/op")
				b.ReportMetric(score*float64(pods*b.N)/total, "x-scoring-cpu")
			})
		}
	}
}

// checkFit expects that Place places the units on as many nodes, and not one unit more. It returns the number of pods.
func checkFit(tb testing.TB, c *engine.Cluster, mix []engine.Pending, got *verdict.Fit) (pods int) {
	tb.Helper()
	var queue []engine.Pending
	for range got.Units + 1 {
		queue = append(queue, mix...)
	}
	placed, err := c.Place(tb.Context(), queue, engine.PlaceOptions{Profile: api.Kube137()})
	if err != nil {
		tb.Fatal(err)
	}
	on := make([]map[uint32]uint32, len(mix))
	for e := range on {
		on[e] = make(map[uint32]uint32)
	}
	unplaced := 0
	for i := range placed.Placements {
		p := &placed.Placements[i]
		if unplaced += p.Unplaced; i >= got.Units*len(mix) {
			continue
		}
		for _, n := range p.Nodes {
			on[i%len(mix)][n]++
		}
		pods += len(p.Nodes)
	}
	for e, pods := range got.Pods {
		for i, n := range pods.Nodes {
			if on[e][n] != pods.Counts[i] {
				tb.Fatalf("%d pods of entry %d on node %d, Place puts %d there", pods.Counts[i], e, n, on[e][n])
			}
		}
		if len(on[e]) != len(pods.Nodes) {
			tb.Fatalf("entry %d on %d nodes, Place uses %d", e, len(pods.Nodes), len(on[e]))
		}
	}
	if unplaced == 0 || pods == 0 {
		tb.Fatalf("%d pods placed, %d unplaced: %s", pods, unplaced, got.Message)
	}
	return pods
}
