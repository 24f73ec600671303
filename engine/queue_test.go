package engine_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
)

var topologyKeys = []string{
	"topology.kubernetes.io/zone", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "kubernetes.io/hostname",
	"example.com/rack", "disk", "example.com/absent",
}

// randomQueue returns a cluster, a profile and a queue of pods of few templates. Every plugin has an effect on it,
// between pending pods and with existing pods.
func randomQueue(rng *rand.Rand) (*api.Cluster, *api.Profile, []api.Pod) {
	c := &api.Cluster{
		Namespaces: []api.Namespace{
			{Name: "default", Labels: api.LabelsOf(map[string]string{"team": "a"})},
			{Name: "other", Labels: api.LabelsOf(map[string]string{"team": "b"})},
		},
		WorkloadSelectors: []api.WorkloadSelector{
			{Kind: api.Service, Namespace: "default", Name: "web", Selector: enginetest.Selects("app", "web")},
			{Kind: api.ReplicaSet, Namespace: "default", Name: "set", Selector: enginetest.Selects("tier", "x")},
			{Kind: api.StatefulSet, Namespace: "other", Name: "set", Selector: enginetest.Selects("app", "db")},
			{Kind: api.ReplicationController, Namespace: "default", Name: "set", Selector: enginetest.Selects("app", "cache")},
		},
	}
	named := "n1"
	template := func() *api.PodTemplate { return queuedPod(rng, named).Template }
	for range 2 + rng.IntN(4) {
		p := queuedPod(rng, named)
		switch rng.IntN(4) {
		case 0:
			p.AntiAffinity(pick(rng, topologyKeys...), enginetest.Selects("color", "red"))
		case 1:
			p.PreferAntiAffinity(50, pick(rng, topologyKeys...), enginetest.Selects("color", "red"))
		}
		c.Templates = append(c.Templates, p.Template)
	}
	tight := rng.IntN(3) == 0
	nodes := 2 + rng.IntN(pick(rng, 6, 20, 40))
	if rng.IntN(400) == 0 {
		nodes += 300
	}
	for i := range nodes {
		n := queuedNode(rng, i, tight)
		for range rng.IntN(4) {
			n.PodCounts = append(n.PodCounts, api.PodCount{
				Template: rng.IntN(len(c.Templates)), Count: 1 + rng.Int32N(2), Terminating: rng.IntN(8) == 0,
			})
		}
		c.Nodes = append(c.Nodes, n.Node)
	}
	templates := []*api.PodTemplate{pick(rng, c.Templates...)}
	for range rng.IntN(8) {
		templates = append(templates, template())
	}
	own := rng.IntN(4) == 0
	var pods []api.Pod
	for i := range 10 + rng.IntN(pick(rng, 20, 60, 150)) {
		p := api.Pod{Name: fmt.Sprint("queued-", i), Template: pick(rng, templates...), TemplateIndex: -1}
		if own && rng.IntN(2) == 0 {
			p.Labels = api.Labels{{Key: pick(rng, "app", "tier", "version"), Value: pick(rng, "web", "db", "x")}}
		}
		if own && rng.IntN(2) == 0 {
			p.Labels = p.Labels.With(api.LabelsOf(map[string]string{"color": pick(rng, "red", "blue"), "pod-index": fmt.Sprint(i)}))
		}
		if rng.IntN(8) == 0 {
			stated := *p.Template
			if rng.IntN(2) == 0 {
				stated.Controller = api.ControllerReference{}
			}
			p.Template = &stated
		}
		p.Terminating = rng.IntN(16) == 0
		pods = append(pods, p)
	}
	if rng.IntN(4) == 0 {
		enginetest.RandomNominated(rng, c, pods)
	}
	return c, randomProfile(rng), pods
}

func queuedNode(rng *rand.Rand, i int, tight bool) *enginetest.Node {
	room := 8 + rng.IntN(8)
	if tight {
		room = 1 + rng.IntN(3)
	}
	n := enginetest.MakeNode(fmt.Sprint("n", i))
	resources := []any{"cpu", 500 * room, "memory", int64(room) << 29, "pods", 2 * room, "ephemeral-storage", int64(room) << 30}
	if rng.IntN(3) == 0 {
		resources = append(resources, "example.com/gpu", rng.IntN(room+1))
	}
	if rng.IntN(4) == 0 {
		resources = append(resources, "hugepages-2Mi", int64(room)<<22)
	}
	if rng.IntN(30) == 0 {
		resources[1] = 0
	}
	n.Allocate(resources...)
	switch rng.IntN(12) {
	case 0:
		n.Labels = nil
	case 1:
		n.Zone("")
	case 2:
		n.Label("kubernetes.io/hostname", pick(rng, "n0", "shared"))
		n.Zone("a")
	case 3:
	default:
		n.Zone(pick(rng, "a", "b", "c"))
	}
	if rng.IntN(8) > 0 {
		n.Label("example.com/rack", fmt.Sprint("rack-", i/(2+i%2)))
	}
	if rng.IntN(3) == 0 {
		n.Label("disk", pick(rng, "ssd", "hdd"))
	}
	if rng.IntN(4) == 0 {
		n.Label("slot", fmt.Sprint(rng.IntN(5)))
	}
	for range max(0, rng.IntN(5)-2) {
		n.Taint(pick(rng, "dedicated", "flaky"), pick(rng, "x", "y"), pick(rng, api.NoSchedule, api.PreferNoSchedule, api.PreferNoSchedule, api.NoExecute))
	}
	if rng.IntN(12) == 0 {
		n.Cordon()
	}
	for _, image := range []string{"app:v1", "side:latest", "data:v2"} {
		if rng.IntN(3) == 0 {
			n.Image(image, int64(100+rng.IntN(3)*400)<<20)
		}
	}
	return n
}

func queuedSelector(rng *rand.Rand) *api.LabelSelector {
	switch rng.IntN(10) {
	case 0:
		return &api.LabelSelector{}
	case 1:
		return nil
	case 2:
		return &api.LabelSelector{MatchExpressions: []api.Requirement{{
			Key: "app", Operator: pick(rng, api.In, api.NotIn), Values: []string{"web", "cache"},
		}}}
	case 3:
		return &api.LabelSelector{MatchExpressions: []api.Requirement{{
			Key: pick(rng, "tier", "version"), Operator: pick(rng, api.Exists, api.DoesNotExist),
		}}}
	}
	return enginetest.Selects("app", pick(rng, "web", "db", "cache"))
}

func queuedTerm(rng *rand.Rand) api.PodAffinityTerm {
	t := api.PodAffinityTerm{TopologyKey: pick(rng, topologyKeys...), LabelSelector: queuedSelector(rng)}
	switch rng.IntN(6) {
	case 0:
		t.Namespaces = []string{pick(rng, "default", "other", "unknown")}
	case 1:
		t.NamespaceSelector = pick(rng, &api.LabelSelector{}, enginetest.Selects("team", "a"), enginetest.Selects("team", "b"))
	}
	switch rng.IntN(8) {
	case 0:
		t.MatchLabelKeys = []string{"tier"}
	case 1:
		t.MismatchLabelKeys = []string{pick(rng, "tier", "version")}
	}
	return t
}

func queuedSpread(rng *rand.Rand) api.TopologySpreadConstraint {
	s := api.TopologySpreadConstraint{
		TopologyKey: pick(rng, topologyKeys[:6]...), MaxSkew: 1 + rng.Int32N(3), MinDomains: 1, LabelSelector: queuedSelector(rng),
		ScheduleAnyway:     rng.IntN(2) == 0,
		IgnoreNodeAffinity: rng.IntN(4) == 0,
		HonorNodeTaints:    rng.IntN(3) == 0,
	}
	if !s.ScheduleAnyway && rng.IntN(4) == 0 {
		s.MinDomains = 2 + rng.Int32N(3)
	}
	if rng.IntN(4) == 0 {
		s.MatchLabelKeys = []string{pick(rng, "tier", "version")}
	}
	return s
}

func queuedNodeTerm(rng *rand.Rand, named string) api.NodeSelectorTerm {
	if rng.IntN(6) == 0 {
		return api.NodeSelectorTerm{MatchFields: []api.Requirement{{
			Key: "metadata.name", Operator: pick(rng, api.In, api.NotIn), Values: []string{named},
		}}}
	}
	return api.NodeSelectorTerm{MatchExpressions: []api.Requirement{pick(rng,
		api.Requirement{Key: "disk", Operator: api.In, Values: []string{"ssd"}},
		api.Requirement{Key: "disk", Operator: api.NotIn, Values: []string{"hdd"}},
		api.Requirement{Key: "slot", Operator: api.GreaterThan, Values: []string{"1"}},
		api.Requirement{Key: "topology.kubernetes.io/zone", Operator: api.In, Values: []string{"a", "b"}},
		api.Requirement{Key: "example.com/rack", Operator: api.Exists},
	)}}
}

func queuedPod(rng *rand.Rand, named string) *enginetest.Pod {
	p := enginetest.MakePod("").Namespace(pick(rng, "default", "default", "other", "unknown"))
	p.Label("app", pick(rng, "web", "db", "cache"))
	if rng.IntN(2) == 0 {
		p.Label("tier", pick(rng, "x", "y"))
	}
	if rng.IntN(4) == 0 {
		p.Label("version", pick(rng, "1", "2"))
	}
	s := &p.Template.Spec
	s.Containers[0].Image = pick(rng, "app:v1", "side", "unheard-of", "data:v2")
	if rng.IntN(3) > 0 {
		p.Request("cpu", 50*rng.IntN(8), "memory", (64<<20)*rng.IntN(8))
	}
	switch rng.IntN(8) {
	case 0:
		p.Request("cpu", 100, "example.com/gpu", 1)
	case 1:
		p.Request("hugepages-2Mi", 1<<22, "ephemeral-storage", 1<<26)
	case 2:
		s.Requests = enginetest.Resources("cpu", 300)
		s.Overhead = enginetest.Resources("memory", 64<<20)
	case 3:
		s.InitContainers = []api.Container{{
			Name: "init", Image: "side", Requests: enginetest.Resources("cpu", 400), Sidecar: rng.IntN(2) == 0,
		}}
		s.ImageVolumes = []string{"data:v2"}
	}
	affinity := func() *api.PodAffinity {
		a := &api.PodAffinity{}
		for range max(0, rng.IntN(5)-3) {
			a.Required = append(a.Required, queuedTerm(rng))
		}
		for range max(0, rng.IntN(5)-2) {
			a.Preferred = append(a.Preferred, api.WeightedPodAffinityTerm{Weight: 1 + rng.Int32N(100), Term: queuedTerm(rng)})
		}
		return a
	}
	if rng.IntN(3) == 0 {
		s.PodAffinity = affinity()
	}
	if rng.IntN(3) == 0 {
		s.PodAntiAffinity = affinity()
	}
	for range max(0, rng.IntN(6)-2) {
		s.Spread = append(s.Spread, queuedSpread(rng))
	}
	if rng.IntN(6) == 0 {
		app, _ := p.Template.Labels.Get("app")
		s.Spread = nil
		p.SpreadSoftly("example.com/rack", 1+rng.Int32N(2), enginetest.Selects("app", app)).
			SpreadSoftly("topology.kubernetes.io/zone", 1+rng.Int32N(4), queuedSelector(rng))
		if rng.IntN(2) == 0 {
			p.Spread("topology.kubernetes.io/zone", 1+rng.Int32N(2), enginetest.Selects("app", app))
		}
	}
	if rng.IntN(3) == 0 {
		p.Template.Controller = api.ControllerReference{
			Kind: pick(rng, api.ReplicaSet, api.StatefulSet, api.ReplicationController), Name: "set",
		}
	}
	for range max(0, rng.IntN(8)-5) {
		s.Containers[0].HostPorts = append(s.Containers[0].HostPorts, api.HostPort{
			Port: 80 + rng.Int32N(2), Protocol: pick(rng, api.TCP, api.UDP), HostIP: pick(rng, "", "", "0.0.0.0", "10.0.0.1", "10.0.0.2"),
		})
	}
	for range rng.IntN(3) {
		p.Tolerate(pick(rng,
			api.Toleration{Key: "dedicated", Operator: api.TolerationExists},
			api.Toleration{Key: "flaky", Value: "x", Effect: api.PreferNoSchedule},
			api.Toleration{Operator: api.TolerationExists, Effect: api.NoSchedule},
		))
	}
	if rng.IntN(8) == 0 {
		s.NodeSelector = api.Labels{{Key: "disk", Value: "ssd"}}
	}
	if rng.IntN(4) == 0 {
		a := &api.NodeAffinity{}
		if rng.IntN(3) == 0 {
			a.Required = &api.NodeSelector{Terms: []api.NodeSelectorTerm{queuedNodeTerm(rng, named), queuedNodeTerm(rng, named)}}
		}
		for range rng.IntN(3) {
			a.Preferred = append(a.Preferred, api.PreferredNodeTerm{Weight: 1 + rng.Int32N(100), Preference: queuedNodeTerm(rng, named)})
		}
		s.NodeAffinity = a
	}
	switch rng.IntN(80) {
	case 0, 1:
		s.NodeName = named
	case 2, 3:
		s.SchedulingGates = []string{"wait"}
	case 4:
		p.AntiAffinity("topology.kubernetes.io/zone", enginetest.Selects("app", "not a value"))
	case 5:
		s.Spread = append(s.Spread, queuedSpread(rng))
		s.Spread[0].LabelSelector = enginetest.Selects("app", "not a value")
	case 6:
		s.NodeAffinity = &api.NodeAffinity{Preferred: []api.PreferredNodeTerm{{Weight: 1, Preference: api.NodeSelectorTerm{
			MatchExpressions: []api.Requirement{{Key: "disk", Operator: api.GreaterThan, Values: []string{"many"}}},
		}}}}
	}
	return p
}

// randomProfile returns a random profile, or with probability 1/2 kube-scheduler's own.
func randomProfile(rng *rand.Rand) *api.Profile {
	p := api.Kube137()
	if rng.IntN(2) == 0 {
		return p
	}
	w := &p.Weights
	for _, weight := range []*int64{
		&w.TaintToleration, &w.NodeAffinity, &w.NodeResourcesFit, &w.PodTopologySpread, &w.InterPodAffinity, &w.BalancedAllocation, &w.ImageLocality,
	} {
		*weight = 1 + rng.Int64N(5)
	}
	p.HardPodAffinityWeight = pick[int32](rng, 0, 1, 50)
	p.IgnorePreferredTermsOfExistingPods = rng.IntN(3) == 0
	p.Scoring.Type = pick(rng, api.LeastAllocated, api.MostAllocated, api.RequestedToCapacityRatio)
	p.Scoring.Shape = pick(rng,
		[]api.ShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 0}},
		[]api.ShapePoint{{Utilization: 0, Score: 0}, {Utilization: 50, Score: 10}, {Utilization: 100, Score: 2}},
	)
	if rng.IntN(2) == 0 {
		p.Scoring.Resources = append(p.Scoring.Resources, api.ResourceWeight{Resource: "example.com/gpu", Weight: 3})
		p.BalancedResources = append(p.BalancedResources, "example.com/gpu")
	}
	if rng.IntN(3) == 0 {
		p.IgnoredResources = []string{"example.com/gpu"}
	}
	if rng.IntN(3) == 0 {
		p.AddedAffinity = &api.NodeAffinity{Preferred: []api.PreferredNodeTerm{{Weight: 7, Preference: queuedNodeTerm(rng, "n1")}}}
		if rng.IntN(4) == 0 {
			p.AddedAffinity.Required = &api.NodeSelector{Terms: []api.NodeSelectorTerm{queuedNodeTerm(rng, "n1"), queuedNodeTerm(rng, "n1")}}
		}
	}
	if rng.IntN(2) == 0 {
		p.SystemDefaultSpread = false
		for range rng.IntN(3) {
			s := queuedSpread(rng)
			s.LabelSelector, s.MatchLabelKeys = nil, nil
			p.DefaultSpread = append(p.DefaultSpread, s)
		}
	}
	return p
}

func pick[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }
