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

// New returns a cluster of a number of nodes, with 30 pods on each. Nodes share no class.
func New(nodes int) *stowagev1.Cluster {
	return cluster(nodes, func(node int) traits { return ofPool(node % Pools) })
}

// Random returns a cluster like New's, except that the nodes' labels and taints do not follow from the pool: each is drawn on its
// own, so that there are thousands of different combinations.
func Random(nodes int) *stowagev1.Cluster {
	rng := rand.New(rand.NewPCG(2, uint64(nodes)))
	return cluster(nodes, func(int) traits {
		return traits{
			pool: rng.IntN(Pools), zone: rng.IntN(Zones), arch: rng.IntN(2), instanceType: rng.IntN(12), generation: rng.IntN(4),
			storage: rng.IntN(3), lifecycle: rng.IntN(2), kernel: rng.IntN(7), cpu: rng.IntN(3), dedicated: rng.IntN(10) == 9,
		}
	})
}

// traits are the properties in which nodes differ, apart from name and rack.
type traits struct {
	pool, zone, arch, instanceType, generation, storage, lifecycle, kernel, cpu int
	dedicated                                                                   bool
}

func ofPool(pool int) traits {
	return traits{
		pool: pool, zone: pool % Zones, arch: pool % 2, instanceType: pool % 12, generation: pool % 4, storage: pool % 3,
		lifecycle: pool % 2, kernel: pool % 7, cpu: pool % 3, dedicated: pool%10 == 9,
	}
}

func cluster(nodes int, traitsOf func(node int) traits) *stowagev1.Cluster {
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
		c.Nodes = append(c.Nodes, node(i, traitsOf(i)))
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

func node(i int, t traits) *stowagev1.Node {
	name := fmt.Sprintf("node-%06d", i)
	labels := map[string]string{
		"kubernetes.io/hostname":                        name,
		"topology.kubernetes.io/zone":                   fmt.Sprintf("zone-%d", t.zone),
		"topology.kubernetes.io/region":                 "region-1",
		"kubernetes.io/arch":                            []string{"amd64", "arm64"}[t.arch],
		"kubernetes.io/os":                              "linux",
		"node.kubernetes.io/instance-type":              fmt.Sprintf("type-%d", t.instanceType),
		"example.com/pool":                              fmt.Sprintf("pool-%d", t.pool),
		"example.com/rack":                              fmt.Sprintf("rack-%d", i/40),
		"beta.kubernetes.io/arch":                       []string{"amd64", "arm64"}[t.arch],
		"beta.kubernetes.io/os":                         "linux",
		"failure-domain.beta.kubernetes.io/zone":        fmt.Sprintf("zone-%d", t.zone),
		"failure-domain.beta.kubernetes.io/region":      "region-1",
		"beta.kubernetes.io/instance-type":              fmt.Sprintf("type-%d", t.instanceType),
		"example.com/generation":                        fmt.Sprint(t.generation),
		"example.com/storage":                           []string{"ssd", "nvme", "hdd"}[t.storage],
		"example.com/lifecycle":                         []string{"on-demand", "spot"}[t.lifecycle],
		"example.com/kernel":                            fmt.Sprintf("6.%d", t.kernel),
		"node.example.com/capacity-reservation-managed": "true",
	}
	n := &stowagev1.Node{
		Name:   name,
		Labels: labels,
		Allocatable: &stowagev1.Resources{
			CpuMillis:             ptr[int64](32_000 + 16_000*int64(t.cpu)),
			MemoryBytes:           ptr[int64](128 << 30),
			EphemeralStorageBytes: ptr[int64](200 << 30),
			Pods:                  ptr[int64](110),
		},
	}
	if t.dedicated {
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
		// With required anti-affinity by zone only one pod would fit per zone. The pods that are there therefore keep apart only
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
