package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// BenchmarkPreemptGroup looks for the victims of a group of 100 pods on 5,000 full nodes with 30 pods each: without rules, with
// rules that count no pod of the nodes, and with a rule that counts them all, where each has a label of its own.
func BenchmarkPreemptGroup(b *testing.B) {
	const nodes, each, pods = 5000, 30, 100
	for _, name := range []string{"spread=false", "spread=true", "unique"} {
		b.Run(name, func(b *testing.B) {
			var of []*enginetest.Node
			for i := range nodes {
				n := enginetest.MakeNode(fmt.Sprint("node-", i)).Zone(fmt.Sprint("zone-", i%3)).Allocate("cpu", int64(each*100), "pods", int64(110))
				for j := range each {
					p := enginetest.MakePod(fmt.Sprint("pod-", i, "-", j)).Label("app", fmt.Sprint("app-", j))
					p.Request("cpu", 100).Priority(int32(j % 7))
					if name == "unique" {
						p.Label("of", "any").Label("name", p.Name)
					}
					n.Run(p)
				}
				of = append(of, n)
			}
			c := compiled(b, enginetest.Cluster(of...))
			p := enginetest.MakePod("gang").Label("app", "gang").Request("cpu", 500).Priority(1000)
			switch name {
			case "unique":
				p.Spread(zone, 1<<20, enginetest.Selects("of", "any"))
			case "spread=true":
				p.Spread(zone, 1, enginetest.Selects("app", "gang")).AntiAffinity(hostname, enginetest.Selects("app", "gang"))
			}
			o := engine.PlaceOptions{Profile: api.Kube137(), Preempt: true, Groups: []engine.PodGroup{{Name: "gang", Entries: []int{0}}}}
			for b.Loop() {
				got, err := c.Place(context.Background(), []engine.Pending{{Pod: p.Pod, Count: pods}}, o)
				if err != nil {
					b.Fatal(err)
				}
				if g := got.Groups[0].Preemption; g == nil || g.Count != 5*pods {
					b.Fatalf("%+v", got.Groups[0])
				}
			}
		})
	}
}
