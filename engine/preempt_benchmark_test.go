package engine_test

import (
	"fmt"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// fullCluster returns nodes that are full of pods of low priorities, 30 on each: named ones, which started at different
// times, or counted ones. A pod of 1 CPU needs 4 of 250 millicores. The pods of the last node but one started last.
func fullCluster(nodes int, named bool) *api.Cluster {
	c := &api.Cluster{}
	for i := range 20 {
		p := enginetest.MakePod("").Label("app", fmt.Sprint("app-", i)).Request("cpu", 250, "memory", 64<<20)
		c.Templates = append(c.Templates, p.Priority(int32(i/10)).Template)
	}
	for i := range nodes {
		n := enginetest.MakeNode(fmt.Sprint("n", i)).Zone(fmt.Sprint("z", i%3)).Allocate("cpu", 7500, "memory", 64<<30, "pods", 110)
		for j := range 30 {
			template := (i + 7*j) % len(c.Templates)
			if !named {
				continue
			}
			p := api.Pod{Name: fmt.Sprint("p-", i, "-", j), Template: c.Templates[template], TemplateIndex: template}
			p.StartTime = 1 + int64((i*7919+j*104729)%1000000)
			if i == nodes-2 {
				p.StartTime += 1 << 40
			}
			n.Pods = append(n.Pods, p)
		}
		if !named {
			n.PodCounts = []api.PodCount{{Template: i % 10, Count: 15}, {Template: 10 + i%10, Count: 15}}
		}
		c.Nodes = append(c.Nodes, n.Node)
	}
	return c
}

// BenchmarkPreemption looks for victims among 150,000 pods of 5,000 nodes. The base is the decision that no node is feasible.
func BenchmarkPreemption(b *testing.B) {
	const nodes = 5000
	plain := func() *enginetest.Pod {
		return enginetest.MakePod("p").Label("app", "app-3").Request("cpu", 1000).Priority(10)
	}
	spread := plain().Spread("topology.kubernetes.io/zone", 1, enginetest.Selects("app", "app-3"))
	for _, of := range []struct {
		name    string
		named   bool
		pod     *enginetest.Pod
		preempt *engine.PreemptOptions
	}{
		{"base", true, plain(), nil},
		{"named", true, plain(), &engine.PreemptOptions{}},
		{"counted", false, plain(), &engine.PreemptOptions{}},
		{"spread", true, spread, &engine.PreemptOptions{}},
		{"budgets", true, plain(), &engine.PreemptOptions{}},
	} {
		b.Run(of.name, func(b *testing.B) {
			stated := fullCluster(nodes, of.named)
			if of.name == "budgets" {
				for i := range 20 {
					selects := enginetest.Selects("app", fmt.Sprint("app-", i))
					stated.Budgets = append(stated.Budgets, api.PodDisruptionBudget{
						Namespace: "default", Name: fmt.Sprint(i), Selector: selects, DisruptionsAllowed: 1,
					})
				}
			}
			c := compiled(b, stated)
			var f *verdict.Filter
			b.ReportAllocs()
			for b.Loop() {
				var err error
				f, err = c.Filter(b.Context(), &of.pod.Pod, engine.FilterOptions{Profile: api.Kube137(), Preempt: of.preempt})
				if err != nil {
					b.Fatal(err)
				}
			}
			if of.preempt == nil {
				return
			}
			found := f.Preemption.Nominated
			if found == nil || (len(f.Preemption.Rejections) > 0) != (of.name == "spread") {
				b.Fatalf("%+v", f.Preemption)
			}
			victims := 0
			for _, v := range found.Victims {
				victims += v.Count
			}
			last := of.name == "named" || of.name == "budgets"
			if of.named && len(f.Preemption.Best) != 1 || last && found.Node != nodes-2 || victims != 4 {
				b.Fatalf("%+v", found)
			}
		})
	}
}
