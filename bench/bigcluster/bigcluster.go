// Package bigcluster makes the clusters that benchmarks and load tests use: of any size, always the same for the same
// arguments, with the proportions of "the big cluster" (5,000 nodes of 60 pools with 18 labels each, 30 pods a node of
// 500 templates, half of them with anti-affinity by hostname or zone, a third with spread constraints).
package bigcluster

import (
	"fmt"
	"math/rand/v2"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The proportions.
const (
	PodsPerNode = 30
	Templates   = 500
	Pools       = 60
	Zones       = 3
)

// New returns a cluster of a number of nodes, with 30 pods on each.
func New(nodes int) *stowagev1.Cluster {
	rng := rand.New(rand.NewPCG(1, uint64(nodes)))
	c := &stowagev1.Cluster{
		Namespaces: []*stowagev1.Namespace{
			{Name: "default", Labels: map[string]string{"kubernetes.io/metadata.name": "default"}},
			{Name: "apps", Labels: map[string]string{"kubernetes.io/metadata.name": "apps", "team": "a"}},
		},
	}
	for i := range Templates {
		c.PodTemplates = append(c.PodTemplates, Template(i))
	}
	for i := range nodes {
		c.Nodes = append(c.Nodes, node(i))
	}
	// Each template's pods are dealt out over the nodes at random, at most one of a template per node, so that required
	// anti-affinity by hostname holds.
	for _, n := range c.Nodes {
		first, step := rng.IntN(Templates), 1+2*rng.IntN(Templates/2)
		for step%5 == 0 {
			step += 2
		}
		for p := range PodsPerNode {
			n.PodCounts = append(n.PodCounts, &stowagev1.PodCount{
				TemplateIndex: uint32((first + p*step) % Templates), Count: 1,
			})
		}
	}
	return c
}

func node(i int) *stowagev1.Node {
	pool := i % Pools
	name := fmt.Sprintf("node-%06d", i)
	labels := map[string]string{
		"kubernetes.io/hostname":                        name,
		"topology.kubernetes.io/zone":                   fmt.Sprintf("zone-%d", pool%Zones),
		"topology.kubernetes.io/region":                 "region-1",
		"kubernetes.io/arch":                            []string{"amd64", "arm64"}[pool%2],
		"kubernetes.io/os":                              "linux",
		"node.kubernetes.io/instance-type":              fmt.Sprintf("type-%d", pool%12),
		"example.com/pool":                              fmt.Sprintf("pool-%d", pool),
		"example.com/rack":                              fmt.Sprintf("rack-%d", i/40),
		"beta.kubernetes.io/arch":                       []string{"amd64", "arm64"}[pool%2],
		"beta.kubernetes.io/os":                         "linux",
		"failure-domain.beta.kubernetes.io/zone":        fmt.Sprintf("zone-%d", pool%Zones),
		"failure-domain.beta.kubernetes.io/region":      "region-1",
		"beta.kubernetes.io/instance-type":              fmt.Sprintf("type-%d", pool%12),
		"example.com/generation":                        fmt.Sprint(pool % 4),
		"example.com/storage":                           []string{"ssd", "nvme", "hdd"}[pool%3],
		"example.com/lifecycle":                         []string{"on-demand", "spot"}[pool%2],
		"example.com/kernel":                            fmt.Sprintf("6.%d", pool%7),
		"node.example.com/capacity-reservation-managed": "true",
	}
	n := &stowagev1.Node{
		Name:   name,
		Labels: labels,
		Allocatable: &stowagev1.Resources{
			CpuMillis:             ptr[int64](32_000 + 16_000*int64(pool%3)),
			MemoryBytes:           ptr[int64](128 << 30),
			EphemeralStorageBytes: ptr[int64](200 << 30),
			Pods:                  ptr[int64](110),
		},
	}
	if pool%10 == 9 {
		n.Taints = []*stowagev1.Taint{{Key: "dedicated", Value: "batch", Effect: stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE}}
	}
	return n
}

// Template returns the i-th template: plain, with anti-affinity to its own pods, with spread, or with both.
func Template(i int) *stowagev1.PodTemplate {
	app := fmt.Sprintf("app-%03d", i)
	own := &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	spec := &stowagev1.PodSpec{
		Containers: []*stowagev1.Container{{
			Name:  "main",
			Image: fmt.Sprintf("example.com/%s:v1", app),
			Requests: &stowagev1.Resources{
				CpuMillis:   ptr[int64](100 + 50*int64(i%10)),
				MemoryBytes: ptr[int64](256 << 20),
			},
		}},
	}
	switch i % 4 {
	case 1:
		spec.Affinity = apart("kubernetes.io/hostname", own)
	case 3:
		// By zone required anti-affinity would leave room for one pod a zone: the pods that are there already keep apart
		// from another version of themselves.
		other := &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": app, "version": "next"}}
		spec.Affinity = apart("topology.kubernetes.io/zone", other)
	}
	if i%3 == 0 {
		spec.TopologySpreadConstraints = []*stowagev1.TopologySpreadConstraint{{
			MaxSkew:           int32(5 + i%3),
			TopologyKey:       "topology.kubernetes.io/zone",
			WhenUnsatisfiable: stowagev1.UnsatisfiableAction(1 + i%2),
			LabelSelector:     own,
		}}
	}
	return &stowagev1.PodTemplate{
		Namespace: []string{"default", "apps"}[i%2],
		Labels:    map[string]string{"app": app, "tier": fmt.Sprint("tier-", i%5), "version": "current"},
		Spec:      spec,
	}
}

func apart(key string, from *stowagev1.LabelSelector) *stowagev1.Affinity {
	return &stowagev1.Affinity{PodAntiAffinity: &stowagev1.PodAffinity{
		Required: []*stowagev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: from}},
	}}
}

func ptr[T any](v T) *T { return &v }
