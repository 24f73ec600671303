package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// TestProvisionFollowers has the cases of Karpenter's own specs in which a pod may be queued before the pod that its affinity needs
// (sigs.k8s.io/karpenter pkg/controllers/provisioning/scheduling/topology_test.go, 2266468): kube-scheduler attempts the pod again after
// the other one was placed, so that both have nodes in every order of the queue. Karpenter queues pods of one size by their UIDs, so in
// any order. Where it needs a second batch, because the zone of a new node is open in the first, the result of both is compared.
func TestProvisionFollowers(t *testing.T) {
	t.Parallel()
	security := enginetest.Selects("security", "s2")
	follower := func(key string) engine.Pending {
		return engine.Pending{Pod: enginetest.MakePod("follower").Affinity(key, security).Pod, Count: 10}
	}
	one := func(p *enginetest.Pod) engine.Pending { return engine.Pending{Pod: p.Pod, Count: 1} }
	apart := engine.Pending{Pod: enginetest.MakePod("apart").Label("test", "test").Spread(hostname, 1, enginetest.Selects("test", "test")).Pod, Count: 10}
	chain := func(name, needs string) engine.Pending {
		p := enginetest.MakePod(name).Label("type", name)
		if needs != "" {
			p.Affinity(hostname, enginetest.Selects("type", needs))
		}
		return one(p)
	}
	constrained := enginetest.MakePod("target").Label("security", "s2")
	constrained.Template.Spec.NodeSelector = api.Labels{{Key: zone, Value: "zone-1"}}
	for name, test := range map[string]struct {
		queue []engine.Pending
		key   string
		same  []string // pods with one value of the key
	}{
		"should support pod affinity with zone topology (constrained target)": {
			[]engine.Pending{follower(zone), one(constrained)}, zone, []string{"follower", "target"},
		},
		"should support pod affinity with zone topology (unconstrained target)": {
			[]engine.Pending{follower(zone), one(enginetest.MakePod("target").Label("security", "s2"))}, zone, []string{"follower", "target"},
		},
		"should respect pod affinity (hostname)": {
			[]engine.Pending{
				apart, one(enginetest.MakePod("follower").Affinity(hostname, security)), one(enginetest.MakePod("target").Label("security", "s2")),
			}, hostname, []string{"follower", "target"},
		},
		"should handle multiple dependent affinities": {
			[]engine.Pending{chain("db", ""), chain("web", "db"), chain("cache", "web"), chain("ui", "cache")}, hostname,
			[]string{"db", "web", "cache", "ui"},
		},
	} {
		for order := range orders(len(test.queue)) {
			for _, scheduler := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %v %t", name, order, scheduler), func(t *testing.T) {
					var queue []engine.Pending
					for _, i := range order {
						queue = append(queue, test.queue[i])
					}
					sameDomain(t, queue, scheduler, test.key, test.same)
				})
			}
		}
	}
}

// orders yields all orders of n things.
func orders(n int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		var extend func(prefix []int) bool
		extend = func(prefix []int) bool {
			if len(prefix) == n {
				return yield(slices.Clone(prefix))
			}
			for i := range n {
				if !slices.Contains(prefix, i) && !extend(append(prefix, i)) {
					return false
				}
			}
			return true
		}
		extend(nil)
	}
}

// sameDomain provisions an empty cluster for a queue, with nodes of 5 pods, and checks that all pods have nodes, some of them with the same
// value of a label.
func sameDomain(t *testing.T, queue []engine.Pending, scheduler bool, key string, same []string) {
	t.Helper()
	options := engine.ProvisionOptions{Profile: api.Kube137(), MaxNodes: 20, Scheduler: scheduler}
	for i := range 3 {
		node := enginetest.MakeNode(fmt.Sprint("zone-", i+1)).Zone(fmt.Sprint("zone-", i+1)).Allocate("cpu", 4000, "memory", 4<<30, "pods", 5)
		options.Templates = append(options.Templates, engine.NodeTemplate{Node: node.Node, Price: 1, NameLabelKeys: []string{hostname}, Most: 20})
	}
	got, err := compiled(t, &api.Cluster{}).Provision(t.Context(), queue, options)
	if err != nil {
		t.Fatal(err)
	}
	domains := map[string]bool{}
	for i := range got.Place.Placements {
		p := &got.Place.Placements[i]
		if p.Unplaced > 0 {
			t.Errorf("%s: %d pods have no node, with %v new ones", queue[i].Pod.Name, p.Unplaced, got.Counts)
		}
		for _, n := range p.Nodes {
			domain := got.Names[n]
			if key == zone {
				domain = domain[:len("zone-1")]
			}
			if slices.Contains(same, queue[i].Pod.Name) {
				domains[domain] = true
			}
		}
	}
	if len(domains) != 1 {
		t.Errorf("%v are in %d domains of %s: %v", same, len(domains), key, domains)
	}
}
