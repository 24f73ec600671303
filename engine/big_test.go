package engine_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

// The proportions of bigCluster.
const (
	bigTemplates   = 500
	bigPools       = 60
	bigPodsPerNode = 30
)

// bigCluster returns a cluster like bench/bigcluster's: nodes of 60 pools with 18 labels each, and 30 pods a node of 500
// templates. With classes, the nodes of a pool share a node class.
func bigCluster(nodes int, classes bool) *api.Cluster {
	rng := rand.New(rand.NewPCG(1, uint64(nodes)))
	c := &api.Cluster{Namespaces: []api.Namespace{{Name: "default"}, {Name: "apps", Labels: api.Labels{{Key: "team", Value: "a"}}}}}
	for i := range bigTemplates {
		c.Templates = append(c.Templates, bigTemplate(i))
	}
	var pools []*api.NodeClass
	for i := range bigPools {
		pools = append(pools, bigPool(i))
	}
	if classes {
		c.Classes = pools
	}
	for i := range nodes {
		n := api.Node{
			Name:     fmt.Sprintf("node-%06d", i),
			Class:    pools[i%bigPools],
			NodeSpec: api.NodeSpec{Labels: api.Labels{{Key: "example.com/rack", Value: fmt.Sprint("rack-", i/40)}}},
		}
		if !classes {
			n = inlined(n)
		}
		first, step := rng.IntN(bigTemplates), 1+2*rng.IntN(bigTemplates/2)
		for step%5 == 0 {
			step += 2
		}
		for p := range bigPodsPerNode {
			n.PodCounts = append(n.PodCounts, api.PodCount{Template: (first + p*step) % bigTemplates, Count: 1})
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// inlined returns a node with the contents of its class inlined.
func inlined(n api.Node) api.Node {
	class := n.Class
	if class == nil {
		return n
	}
	of := class.NodeSpec
	for _, key := range class.NameLabelKeys {
		of.Labels = of.Labels.With(api.Labels{{Key: key, Value: n.Name}})
	}
	n.NodeSpec = n.Over(&of)
	n.Class = nil
	return n
}

func bigPool(i int) *api.NodeClass {
	zone, arch, kind := fmt.Sprint("zone-", i%3), []string{"amd64", "arm64"}[i%2], fmt.Sprint("type-", i%12)
	p := &api.NodeClass{
		NameLabelKeys: []string{"kubernetes.io/hostname"},
		NodeSpec: api.NodeSpec{
			Labels: api.LabelsOf(map[string]string{
				"topology.kubernetes.io/zone":                   zone,
				"topology.kubernetes.io/region":                 "region-1",
				"kubernetes.io/arch":                            arch,
				"kubernetes.io/os":                              "linux",
				"node.kubernetes.io/instance-type":              kind,
				"example.com/pool":                              fmt.Sprint("pool-", i),
				"beta.kubernetes.io/arch":                       arch,
				"beta.kubernetes.io/os":                         "linux",
				"failure-domain.beta.kubernetes.io/zone":        zone,
				"failure-domain.beta.kubernetes.io/region":      "region-1",
				"beta.kubernetes.io/instance-type":              kind,
				"example.com/generation":                        fmt.Sprint(i % 4),
				"example.com/storage":                           []string{"ssd", "nvme", "hdd"}[i%3],
				"example.com/lifecycle":                         []string{"on-demand", "spot"}[i%2],
				"example.com/kernel":                            fmt.Sprint("6.", i%7),
				"node.example.com/capacity-reservation-managed": "true",
			}),
			Allocatable: enginetest.Resources("cpu", 32_000+16_000*(i%3), "memory", 128<<30, "ephemeral-storage", 200<<30, "pods", 110),
		},
	}
	if i%10 == 9 {
		p.Taints = []api.Taint{{Key: "dedicated", Value: "batch", Effect: api.NoSchedule}}
	}
	return p
}

func bigTemplate(i int) *api.PodTemplate {
	app := fmt.Sprintf("app-%03d", i)
	p := enginetest.MakePod("").Namespace([]string{"default", "apps"}[i%2]).
		Label("app", app).Label("tier", fmt.Sprint("tier-", i%5)).Label("version", "current").
		Request("cpu", 100+50*(i%10), "memory", 256<<20)
	p.Template.Spec.Containers[0].Image = "example.com/" + app + ":v1"
	switch i % 4 {
	case 1:
		p.AntiAffinity("kubernetes.io/hostname", enginetest.Selects("app", app))
	case 3:
		p.AntiAffinity("topology.kubernetes.io/zone", &api.LabelSelector{
			MatchLabels: api.LabelsOf(map[string]string{"app": app, "version": "next"}),
		})
	}
	switch i % 6 {
	case 0:
		p.Spread("topology.kubernetes.io/zone", int32(5+i%3), enginetest.Selects("app", app))
	case 3:
		p.SpreadSoftly("topology.kubernetes.io/zone", int32(5+i%3), enginetest.Selects("app", app))
	}
	return p.Template
}
