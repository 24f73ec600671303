package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

var unschedulable = api.Taint{Key: "node.kubernetes.io/unschedulable", Effect: api.NoSchedule}

// cordoned states a cluster in which nodes are cordoned.
func cordoned(stated *api.Cluster, nodes ...uint32) *api.Cluster {
	out := *stated
	out.Nodes = slices.Clone(stated.Nodes)
	for _, i := range nodes {
		n := &out.Nodes[i]
		n.Unschedulable = true
		taints := slices.Clone(n.Taints)
		if n.Class != nil {
			taints = slices.Concat(n.Class.Taints, taints)
		}
		if !slices.ContainsFunc(taints, func(t api.Taint) bool { return t.Key == unschedulable.Key && t.Effect == unschedulable.Effect }) {
			n.Taints = append(slices.Clone(n.Taints), unschedulable)
		}
	}
	return &out
}

// TestCordonedAsIfCompiled cordons nodes of a cluster that has answered before, again and again, and compares with the cluster
// compiled from scratch. The cluster must stay unchanged.
func TestCordonedAsIfCompiled(t *testing.T) {
	differs := 0
	for seed := range uint64(cases(200)) {
		rng := rand.New(rand.NewPCG(seed, 60))
		stated, pods := enginetest.RandomShared(rng)
		if seed%2 == 0 {
			enginetest.RandomFields(rng, stated, pods)
		}
		for i := range pods {
			own := *pods[i].Template
			if rng.IntN(3) == 0 {
				own.Spec.Tolerations = append(slices.Clone(own.Spec.Tolerations), api.Toleration{
					Key: unschedulable.Key, Operator: api.TolerationExists,
				})
			}
			own.Spec.Spread = slices.Clone(own.Spec.Spread)
			for j := range own.Spec.Spread {
				own.Spec.Spread[j].HonorNodeTaints = rng.IntN(2) == 0
			}
			pods[i].Template, pods[i].TemplateIndex = &own, -1
		}
		for i := range stated.Nodes {
			switch n := &stated.Nodes[i]; rng.IntN(8) {
			case 0:
				n.Taints = append(slices.Clone(n.Taints), unschedulable)
			case 1:
				n.Taints = append(slices.Clone(n.Taints), api.Taint{Key: unschedulable.Key, Value: "by hand", Effect: api.NoSchedule})
			case 2:
				n.Taints = append(slices.Clone(n.Taints), api.Taint{Key: unschedulable.Key, Effect: api.PreferNoSchedule})
			}
		}
		base := compiled(t, stated)
		before := ask(t, base, pods)
		c, now := base, stated
		for range 3 {
			var nodes []uint32
			for i := range stated.Nodes {
				if rng.IntN(3) == 0 {
					nodes = append(nodes, uint32(i))
				}
			}
			c, now = engine.Cordoned(c, nodes), cordoned(now, nodes...)
			want := ask(t, compiled(t, now), pods)
			if diff := difference(want, ask(t, c, pods)); diff != "" {
				t.Fatalf("seed %d, nodes %v (-compiled +derived):\n%s", seed, nodes, diff)
			}
			if difference(want, before) != "" {
				differs++
			}
		}
		if diff := difference(before, ask(t, base, pods)); diff != "" {
			t.Fatalf("seed %d: the base changed (-before +after):\n%s", seed, diff)
		}
	}
	if differs == 0 {
		t.Error("no answer ever changes")
	}
}

// TestCordonManyTaints cordons nodes that each have a taint of their own, some of them twice or cordoned before.
func TestCordonManyTaints(t *testing.T) {
	const nodes = 40_000
	stated := &api.Cluster{Nodes: make([]api.Node, nodes)}
	all := make([]uint32, nodes)
	for i := range stated.Nodes {
		n := &stated.Nodes[i]
		n.Name, n.Taints = fmt.Sprint("n", i), []api.Taint{{Key: fmt.Sprint("k", i/2), Effect: api.NoSchedule}}
		n.Allocatable = api.Resources{{Resource: api.ResourcePods, Amount: 10}}
		if i%4 == 1 {
			n.Taints = append(n.Taints, unschedulable)
		}
		all[i] = uint32(i)
	}
	all = slices.Concat(all, all[:nodes/2])
	c := compiled(t, stated)
	_, err := c.WhatIf(&countdown{t.Context(), 2}, &engine.Scenario{Cordoned: all}, engine.WhatIfOptions{Profile: api.Kube137()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a call that ends: %v", err)
	}
	template := &api.PodTemplate{Namespace: "default"}
	template.Spec.Tolerations = []api.Toleration{
		{Key: unschedulable.Key, Operator: api.TolerationExists}, {Key: "k7", Operator: api.TolerationExists},
	}
	queue := []engine.Pending{{Pod: api.Pod{Template: template, TemplateIndex: -1}, Count: 100}}
	for range 2 {
		got, err := c.WhatIf(t.Context(), &engine.Scenario{Cordoned: all, Queue: queue}, engine.WhatIfOptions{Profile: api.Kube137()})
		if err != nil {
			t.Fatal(err)
		}
		if p := got.Placements[0]; len(p.Nodes) != 20 || p.Unplaced != 80 {
			t.Errorf("%d pods are placed, %d are not", len(p.Nodes), p.Unplaced)
		}
	}
}
