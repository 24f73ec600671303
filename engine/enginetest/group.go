package enginetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Member is identical pods of a group.
type Member struct {
	Pod   api.Pod
	Count int
}

// RandomGroup returns a small cluster, a group of pods to place jointly, and its candidates, nil for all. About half of
// the groups can be placed, most of these only jointly.
func RandomGroup(rng *rand.Rand) (c *api.Cluster, group []Member, candidates []uint32) {
	c = &api.Cluster{Namespaces: []api.Namespace{{Name: "default", Labels: api.Labels{{Key: "team", Value: "a"}}}, {Name: "other"}}}
	zones := 1 + rng.IntN(3)
	for i := range 2 + rng.IntN(4) {
		n := MakeNode(fmt.Sprint("n", i)).Allocate("cpu", 500*(1+rng.IntN(4)), "memory", 4<<30, "pods", 1+rng.IntN(6))
		if rng.IntN(12) > 0 {
			n.Zone(fmt.Sprint("zone-", rng.IntN(zones)))
		}
		if rng.IntN(6) > 0 {
			n.Label("rack", fmt.Sprint("rack-", rng.IntN(3)))
		}
		switch rng.IntN(12) {
		case 0:
			n.Labels = nil
		case 1:
			n.Label("kubernetes.io/hostname", "n0")
		case 2:
			n.Taint("dedicated", "x", api.NoSchedule)
		case 3:
			n.Cordon()
		case 4, 5:
			n.Allocatable = Resources("cpu", 1500, "example.com/gpu", 1+rng.IntN(2), "pods", 5)
		}
		for j := range rng.IntN(3) {
			if rng.IntN(4) == 0 {
				n.Run(randomMember(rng, fmt.Sprint("running-", i, "-", j)))
			}
		}
		c.Nodes = append(c.Nodes, n.Node)
	}
	for pods := 1 + rng.IntN(5); pods > 0; {
		count := 1
		if rng.IntN(2) == 0 {
			count = 1 + rng.IntN(pods)
		}
		group = append(group, Member{randomMember(rng, fmt.Sprint("pending-", len(group))).Pod, count})
		pods -= count
	}
	if rng.IntN(6) == 0 {
		candidates = []uint32{}
		for i := range c.Nodes {
			if rng.IntN(4) > 0 {
				candidates = append(candidates, uint32(i))
			}
		}
	}
	return c, group, candidates
}

// randomMember returns a pod with random rules about pods and nodes. The number and order of its draws determine the groups of a
// seed, so changing them changes the test cases.
func randomMember(rng *rand.Rand, name string) *Pod {
	p := MakePod(name).Label("app", randomApp(rng))
	if rng.IntN(8) == 0 {
		p.Namespace("other")
	}
	if rng.IntN(2) == 0 {
		p.Request("cpu", 250*rng.IntN(5))
	}
	for range rng.IntN(3) {
		if rng.IntN(3) == 0 {
			p.Affinity(randomKey(rng), randomSelector(rng))
			randomizeNamespaces(rng, p.spec().PodAffinity.Required)
		}
	}
	for range rng.IntN(3) {
		if rng.IntN(4) == 0 {
			p.AntiAffinity(randomKey(rng), randomSelector(rng))
			randomizeNamespaces(rng, p.spec().PodAntiAffinity.Required)
		}
	}
	if rng.IntN(4) == 0 {
		p.PreferAntiAffinity(1+rng.Int32N(100), randomKey(rng), randomSelector(rng))
	}
	for range rng.IntN(3) {
		if rng.IntN(2) == 0 {
			p.Spread(randomKey(rng), 1+rng.Int32N(2), randomSelector(rng))
			k := &p.spec().Spread[len(p.spec().Spread)-1]
			k.MinDomains = 1 + rng.Int32N(3)
			k.HonorNodeTaints = rng.IntN(4) == 0
			k.IgnoreNodeAffinity = rng.IntN(4) == 0
		}
	}
	switch rng.IntN(16) {
	case 0, 1:
		p.HostPort(80 + rng.Int32N(2))
	case 2:
		p.Tolerate(api.Toleration{Key: "dedicated", Operator: api.TolerationExists})
	case 3:
		p.Terminate()
	case 4:
		p.spec().NodeSelector = api.Labels{{Key: "rack", Value: "rack-0"}}
	case 5:
		p.Request("cpu", 250, "example.com/gpu", 1)
	case 6:
		p.spec().NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{Terms: []api.NodeSelectorTerm{{
			MatchFields: []api.Requirement{{Key: "metadata.name", Operator: pick(rng, api.In, api.NotIn), Values: []string{"n1"}}},
		}}}}
	}
	return p
}

func randomApp(rng *rand.Rand) string { return pick(rng, "web", "db") }

// randomSelector returns a selector of pods by their app: mostly of one app, else of all pods, of none, or of all but one app.
func randomSelector(rng *rand.Rand) *api.LabelSelector {
	switch rng.IntN(16) {
	case 0:
		return &api.LabelSelector{}
	case 1:
		return nil
	case 2:
		return &api.LabelSelector{MatchExpressions: []api.Requirement{
			{Key: "app", Operator: api.NotIn, Values: []string{randomApp(rng)}},
		}}
	}
	return Selects("app", randomApp(rng))
}

// randomKey returns a random topology key; the zone key is twice as likely as the others.
func randomKey(rng *rand.Rand) string {
	return pick(rng, "topology.kubernetes.io/zone", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "rack")
}

// randomizeNamespaces sometimes has the last term count pods of other namespaces than the pod's own.
func randomizeNamespaces(rng *rand.Rand, terms []api.PodAffinityTerm) {
	switch t := &terms[len(terms)-1]; rng.IntN(8) {
	case 0:
		t.Namespaces = []string{"other", "unheard-of"}
	case 1:
		t.NamespaceSelector = &api.LabelSelector{}
	case 2:
		t.NamespaceSelector = &api.LabelSelector{MatchLabels: api.Labels{{Key: "team", Value: "a"}}}
	}
}
