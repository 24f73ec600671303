package enginetest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// RandomVictims adds pods to the nodes of a random cluster, named and counted, with priorities and start times. It adds
// PodDisruptionBudgets, and raises the requests of the pods to place above what most nodes have free.
func RandomVictims(rng *rand.Rand, c *api.Cluster, pods []api.Pod) {
	for i := range 3 {
		p := randomPod(rng, "")
		if p.spec().PodAntiAffinity != nil {
			p.spec().PodAntiAffinity.Required = nil // which pods of one template rarely survive
		}
		p.Template.Spec.Priority = int32(i - 1)
		c.Templates = append(c.Templates, p.Template)
	}
	terminate, start := rng.IntN(2) == 0, rng.IntN(3) > 0
	priorities, highest := []int32{-1, 0, 0, 0, 1, 2}, int32(3)
	if rng.IntN(4) == 0 {
		priorities, highest = []int32{math.MinInt32, -7, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 1 << 30}, math.MaxInt32
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for j := range rng.IntN(4) {
			n.Pods = append(n.Pods, randomPod(rng, fmt.Sprint("victim-", n.Name, "-", j)).Pod)
		}
		for j := range n.Pods {
			p := &n.Pods[j]
			own := *p.Template
			own.Spec.Priority = pick(rng, priorities...)
			p.Template, p.TemplateIndex = &own, -1
			if p.Terminating = p.Terminating && terminate; start {
				p.StartTime = int64(rng.IntN(5)) * 1e9
			}
			p.Preempted = p.Terminating && rng.IntN(2) == 0
		}
		for t := range c.Templates {
			if rng.IntN(3) == 0 {
				count := api.PodCount{Template: t, Count: 1 + rng.Int32N(4), Terminating: terminate && rng.IntN(10) == 0}
				n.PodCounts = append(n.PodCounts, count)
			}
		}
	}
	for i := range rng.IntN(4) {
		b := api.PodDisruptionBudget{
			Namespace: pick(rng, "default", "default", "other"), Name: fmt.Sprint("budget-", i),
			Selector: Selects("app", pick(rng, "web", "db", "cache")), DisruptionsAllowed: rng.Int32N(4) - 1,
		}
		switch rng.IntN(8) {
		case 0:
			b.Selector = nil
		case 1:
			b.Selector = &api.LabelSelector{}
		case 2:
			b.Selector = Selects("app", "not a label value")
		}
		for j := range c.Nodes {
			if rng.IntN(4) == 0 {
				b.Disrupted = append(b.Disrupted, fmt.Sprint("victim-", c.Nodes[j].Name, "-0"))
			}
		}
		c.Budgets = append(c.Budgets, b)
	}
	for i := range pods {
		own := *pods[i].Template
		own.Spec.Priority = pick(rng, 0, 1, 1, 1, 2, highest)
		own.Spec.NeverPreempts = rng.IntN(12) == 0
		own.Spec.Containers = []api.Container{own.Spec.Containers[0]}
		if rng.IntN(3) > 0 {
			own.Spec.Containers[0].Requests = Resources("cpu", 600+200*rng.IntN(6), "memory", 1<<30)
		}
		pods[i].Template, pods[i].TemplateIndex = &own, -1
	}
}
