package enginetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Random returns a small cluster and pods to place. Every plugin has an effect, and few decisions accept or reject all
// nodes.
func Random(rng *rand.Rand) (*api.Cluster, []api.Pod) {
	var nodes []*Node
	for i := range 3 + rng.IntN(10) {
		nodes = append(nodes, randomNode(rng, fmt.Sprint("n", i)))
	}
	var pods []api.Pod
	for i := range 1 + rng.IntN(5) {
		pods = append(pods, randomPod(rng, fmt.Sprint("pending-", i)).Pod)
	}
	c := Cluster(nodes...)
	if rng.IntN(3) == 0 {
		RandomNominated(rng, c, pods)
	}
	c.Namespaces = []api.Namespace{{Name: "default", Labels: api.Labels{{Key: "team", Value: "a"}}}, {Name: "other"}}
	c.WorkloadSelectors = []api.WorkloadSelector{{
		Kind: api.Service, Namespace: "default", Name: "web", Selector: Selects("app", "web"),
	}}
	return c, pods
}

// RandomNominated gives pods priorities, nominates some of them and others to nodes, and has some of them know it.
func RandomNominated(rng *rand.Rand, c *api.Cluster, pods []api.Pod) {
	for i := range pods {
		if rng.IntN(3) == 0 {
			template := *pods[i].Template
			template.Spec.Priority = pick[int32](rng, -1, 1)
			pods[i].Template, pods[i].TemplateIndex = &template, -1
		}
		n := &c.Nodes[rng.IntN(len(c.Nodes))]
		if rng.IntN(4) == 0 && pods[i].Name != "" {
			n.Nominated = append(n.Nominated, pods[i])
		}
		if rng.IntN(4) == 0 {
			pods[i].NominatedNode = n.Name
		}
	}
	for i := range c.Nodes {
		for j := range rng.IntN(3) * rng.IntN(2) {
			p := randomPod(rng, fmt.Sprint("nominated-", c.Nodes[i].Name, "-", j)).Priority(pick[int32](rng, -1, 0, 1))
			c.Nodes[i].Nominated = append(c.Nodes[i].Nominated, p.Pod)
		}
	}
}

func randomNode(rng *rand.Rand, name string) *Node {
	n := MakeNode(name).Allocate("cpu", 1000+500*rng.IntN(4), "memory", 4<<30, "pods", 3+rng.IntN(6))
	if rng.IntN(6) > 0 {
		n.Zone(pick(rng, "a", "b", "c"))
	}
	if rng.IntN(3) == 0 {
		n.Label("disk", pick(rng, "ssd", "hdd"))
	}
	if rng.IntN(5) == 0 {
		n.Taint("dedicated", pick(rng, "x", "y"), pick(rng, api.NoSchedule, api.PreferNoSchedule, api.NoExecute))
	}
	if rng.IntN(8) == 0 {
		n.Cordon()
	}
	if rng.IntN(3) == 0 {
		n.Image("app:v1", 500<<20)
	}
	for j := range rng.IntN(4) {
		n.Run(randomPod(rng, fmt.Sprint("running-", name, "-", j)))
	}
	return n
}

func randomPod(rng *rand.Rand, name string) *Pod {
	p := MakePod(name).Namespace(pick(rng, "default", "default", "other")).Label("app", pick(rng, "web", "db", "cache"))
	selects := func() *api.LabelSelector {
		switch rng.IntN(8) {
		case 0:
			return &api.LabelSelector{}
		case 1:
			return nil
		}
		return Selects("app", pick(rng, "web", "db", "cache"))
	}
	key := func() string {
		return pick(rng, "topology.kubernetes.io/zone", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "disk")
	}
	p.spec().Containers[0].Image = "app:v1"
	if rng.IntN(3) > 0 {
		p.Request("cpu", 100*rng.IntN(8), "memory", (128<<20)*rng.IntN(8))
	}
	if rng.IntN(6) == 0 {
		p.Affinity(key(), selects())
	}
	if rng.IntN(4) == 0 {
		p.AntiAffinity(key(), selects())
	}
	if rng.IntN(3) == 0 {
		p.PreferAntiAffinity(1+rng.Int32N(100), key(), selects())
	}
	if rng.IntN(4) == 0 {
		p.Spread(key(), 1+rng.Int32N(2), selects())
	}
	if rng.IntN(4) == 0 {
		p.SpreadSoftly(key(), 1+rng.Int32N(2), selects())
	}
	if rng.IntN(6) == 0 {
		p.HostPort(80 + rng.Int32N(2))
	}
	if rng.IntN(4) == 0 {
		p.Tolerate(api.Toleration{Key: "dedicated", Operator: api.TolerationExists})
	}
	if rng.IntN(8) == 0 {
		p.Terminate()
	}
	if rng.IntN(6) == 0 {
		p.spec().NodeSelector = api.Labels{{Key: "disk", Value: "ssd"}}
	}
	return p
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }
