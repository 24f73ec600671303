package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/nodestate"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// TestRemedies applies every change that is offered for random pending pods to the cluster and the pod, and decides from scratch: the
// node that the change claims to make feasible is, and it is the first one. The likeliest kinds are not missing where they suffice.
func TestRemedies(t *testing.T) {
	kinds := make(map[string]int)
	n := cases(3000)
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 13))
		stated, pods := enginetest.Random(rng)
		hinder(rng, stated, pods)
		for i := range pods {
			a := &remedied{t: t, stated: stated, pod: &pods[i]}
			got, err := compiled(t, stated).Filter(t.Context(), &pods[i], engine.FilterOptions{Profile: api.Kube137(), Changes: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range got.Changes {
				if diff := a.check(&c); diff != "" {
					t.Fatalf("seed %d, pod %d, %s: %s: %s", seed, i, got.Message, kindName(&c), diff)
				}
				kinds[kindName(&c)]++
			}
			if len(got.Feasible) == 0 {
				if missing := a.missing(got.Changes); missing != "" {
					t.Fatalf("seed %d, pod %d, %s: %s", seed, i, got.Message, missing)
				}
			}
		}
	}
	for _, kind := range []string{
		"uncordoned", "tolerations", "cleared", "labelled", "value", "renamed", "given up", "topology key", "policy", "minDomains",
		"matchLabelKeys", "namespace", "gates", "combined", "node", "pods", "maxSkew", "rule", "request",
	} {
		if kinds[kind] == 0 && n >= 3000 {
			t.Errorf("no change of kind %q: the cases no longer exercise it", kind)
		}
	}
	t.Log(kinds)
}

var nodeStates = []string{
	"node.kubernetes.io/not-ready", "node.kubernetes.io/disk-pressure", "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted",
	"node.cloudprovider.kubernetes.io/uninitialized",
}

// hinder gives nodes and pods what users stumble over.
func hinder(rng *rand.Rand, c *api.Cluster, pods []api.Pod) {
	for i := range c.Nodes {
		n := &c.Nodes[i]
		switch rng.IntN(8) {
		case 0:
			n.Taints = append(n.Taints, api.Taint{Key: nodeStates[rng.IntN(len(nodeStates))], Effect: api.NoSchedule})
		case 1:
			n.Taints = append(n.Taints, api.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: api.NoSchedule})
		case 2, 3:
			n.Taints = append(n.Taints, api.Taint{Key: "gpu", Value: "a100", Effect: api.NoSchedule})
		}
		if n.Unschedulable && rng.IntN(2) == 0 {
			n.Taints = append(n.Taints, api.Taint{Key: "node.kubernetes.io/unschedulable", Effect: api.NoSchedule})
		}
		for j := range n.Pods {
			n.Pods[j].Template = hindered(rng, n.Pods[j].Template)
		}
	}
	for i := range pods {
		pods[i].Template = hindered(rng, pods[i].Template)
		spec := &pods[i].Template.Spec
		if rng.IntN(12) == 0 {
			spec.SchedulingGates = []string{"example.com/wait"}
		}
		hinderSelectors(rng, spec)
		for j := range spec.Spread {
			k := &spec.Spread[j]
			k.MinDomains = 1 + rng.Int32N(4)
			if rng.IntN(5) == 0 {
				k.TopologyKey = "failure-domain.beta.kubernetes.io/zone"
			}
			k.IgnoreNodeAffinity = rng.IntN(3) == 0
		}
	}
}

// hinderSelectors adds requirements on nodes' labels that few nodes meet, or none.
func hinderSelectors(rng *rand.Rand, spec *api.PodSpec) {
	switch rng.IntN(10) {
	case 0:
		spec.NodeSelector = api.Labels{{Key: "disk", Value: "sdd"}}
	case 1:
		spec.NodeSelector = api.Labels{{Key: "failure-domain.beta.kubernetes.io/zone", Value: "a"}}
	case 2:
		spec.NodeSelector = api.Labels{{Key: "ingress-ready", Value: "true"}}
	case 3:
		spec.NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{Terms: []api.NodeSelectorTerm{{MatchExpressions: []api.Requirement{
			{Key: "disk", Operator: api.GreaterThan, Values: []string{"1.5"}},
			{Key: "topology.kubernetes.io/zone", Operator: api.In, Values: []string{"a", "b"}},
		}}}}}
	case 4:
		spec.NodeSelector = api.Labels{{Key: "topology.kubernetes.io/zone", Value: "a"}}
		spec.NodeAffinity = &api.NodeAffinity{Required: &api.NodeSelector{Terms: []api.NodeSelectorTerm{
			{MatchExpressions: []api.Requirement{{Key: "topology.kubernetes.io/zone", Operator: api.In, Values: []string{"b"}}}},
			{MatchExpressions: []api.Requirement{{Key: "rack", Operator: api.Exists}}},
		}}}
	}
}

// hindered returns a template of one of two revisions of a Deployment, or of a DaemonSet.
func hindered(rng *rand.Rand, t *api.PodTemplate) *api.PodTemplate {
	own := *t
	own.Spec.Priority = rng.Int32N(3)
	app, _ := own.Labels.Get("app")
	switch hash := []string{"h1", "h2"}[rng.IntN(2)]; rng.IntN(4) {
	case 0:
		own.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: app + "-" + hash}
		own.Labels = own.Labels.With(api.Labels{{Key: "pod-template-hash", Value: hash}})
	case 1:
		own.Controller = api.ControllerReference{Kind: api.DaemonSet}
	case 2:
		own.Labels = own.Labels.With(api.Labels{{Key: "pod-template-hash", Value: hash}})
	}
	return &own
}

// kindName names the kind of a change.
func kindName(c *verdict.Change) string {
	switch {
	case c.UncordonedNode != nil:
		return "uncordoned"
	case c.Tolerations != nil:
		return "tolerations"
	case c.ClearedTaints != nil:
		return "cleared"
	case c.LabelledNode != nil:
		return "labelled"
	case c.NodeRequirement != nil && c.NodeRequirement.To == nil:
		return "given up"
	case c.NodeRequirement != nil && len(c.NodeRequirement.Values) > 0:
		return "value"
	case c.NodeRequirement != nil:
		return "renamed"
	case c.TopologyKey != nil:
		return "topology key"
	case c.SpreadPolicy != nil:
		return "policy"
	case c.MinDomains != nil:
		return "minDomains"
	case c.MatchLabelKey != nil:
		return "matchLabelKeys"
	case c.Namespaces != nil:
		return "namespace"
	case c.RemovedGates != nil:
		return "gates"
	case c.Combined != nil:
		return "combined"
	case c.AddedNode != nil:
		return "node"
	case c.RemovedPods != nil:
		return "pods"
	case c.RaisedMaxSkew != nil:
		return "maxSkew"
	case c.PreferredRule != nil:
		return "rule"
	}
	return "request"
}

// remedied is a pending pod and its cluster, and changes of both.
type remedied struct {
	t      *testing.T
	stated *api.Cluster
	pod    *api.Pod
}

// check returns what is wrong with a change, empty if it does what it claims.
func (r *remedied) check(c *verdict.Change) string {
	if problem := r.forbidden(c); problem != "" {
		return problem
	}
	cluster, pod := r.apply(c)
	if len(cluster.Nodes) > len(r.stated.Nodes) {
		if got := r.feasible(cluster, pod); !slices.Contains(got, uint32(len(r.stated.Nodes))) {
			return fmt.Sprint("the added node is not feasible, but ", got)
		}
		return ""
	}
	got := r.feasible(cluster, pod)
	if len(got) == 0 || len(c.Nodes) != 1 || got[0] != c.Nodes[0] {
		return fmt.Sprint("feasible are ", got, ", claimed is ", c.Nodes)
	}
	return ""
}

func (r *remedied) feasible(c *api.Cluster, pod *api.Pod) []uint32 {
	f, err := compiled(r.t, c).Filter(context.Background(), pod, engine.FilterOptions{Profile: api.Kube137()})
	if err != nil {
		r.t.Fatal(err)
	}
	return f.Feasible
}

// forbidden returns why a change must not be offered.
func (r *remedied) forbidden(c *verdict.Change) string {
	own := r.pod.Template
	for _, gone := range c.RemovedPods {
		n := &r.stated.Nodes[gone.Node]
		p := &n.Pods[slices.IndexFunc(n.Pods, func(p api.Pod) bool { return p.Name == gone.Name })]
		if p.Template.Controller.Kind == api.DaemonSet && !p.Terminating {
			return "a pod of a DaemonSet is evicted"
		}
		if t := p.Template; t.Controller.Kind != api.NoWorkload && t.Spec.Priority > own.Spec.Priority && !p.Terminating {
			return "a pod is evicted whose replacement comes first"
		}
	}
	for _, t := range c.Tolerations {
		if nodestate.Has(t.Key) {
			return "a state of a node is tolerated"
		}
	}
	if c.LoweredRequest != nil && c.LoweredRequest.To <= 0 {
		return "nothing is requested"
	}
	if c.RemovedGates == nil && c.Combined == nil && len(own.Spec.SchedulingGates) > 0 {
		return "the pod has scheduling gates"
	}
	for i := range c.Combined {
		if problem := (&remedied{r.t, r.stated, withoutGates(r.pod)}).forbidden(&c.Combined[i]); problem != "" {
			return problem
		}
	}
	return ""
}

func withoutGates(p *api.Pod) *api.Pod {
	pod, template := *p, *p.Template
	template.Spec.SchedulingGates, pod.Template = nil, &template
	return &pod
}

// missing returns which change is missing that is found by trying all nodes.
func (r *remedied) missing(changes []verdict.Change) string {
	offered := make(map[string]bool)
	fewest := 0
	for i := range changes {
		offered[kindName(&changes[i])] = true
		fewest = max(fewest, len(changes[i].Tolerations))
	}
	if len(r.pod.Template.Spec.SchedulingGates) > 0 {
		if alone := len(r.feasible(r.stated, withoutGates(r.pod))) > 0; alone != offered["gates"] {
			return fmt.Sprint("without its gates it is feasible: ", alone)
		}
		return ""
	}
	uncordoned := false
	for i := range r.stated.Nodes {
		if n := uint32(i); r.stated.Nodes[i].Unschedulable && !uncordoned {
			cluster, pod := r.apply(&verdict.Change{UncordonedNode: &n})
			uncordoned = len(r.feasible(cluster, pod)) > 0
		}
	}
	if uncordoned != offered["uncordoned"] {
		return fmt.Sprint("uncordoning a node suffices: ", uncordoned)
	}
	if least := r.fewestTolerations(); least != fewest {
		return fmt.Sprint("the fewest tolerations are ", least, ", offered are ", fewest)
	}
	if added := r.nodeSuffices(); added && !offered["node"] {
		return "a node like one of the cluster suffices"
	}
	if offered["combined"] && len(offered) > 1 {
		return "changes are combined though one suffices"
	}
	return ""
}

// nodeSuffices reports whether the pod has a feasible node with one more node like one of the cluster, in the same domains.
func (r *remedied) nodeSuffices() bool {
	for i := range r.stated.Nodes {
		cluster, pod := r.apply(&verdict.Change{AddedNode: &verdict.AddedNode{Like: uint32(i)}})
		if slices.Contains(r.feasible(cluster, pod), uint32(len(r.stated.Nodes))) {
			return true
		}
	}
	return false
}

// fewestTolerations returns the fewest tolerations of one node's taints that suffice, 0 if none do: without the taints of roles, or
// else with them.
func (r *remedied) fewestTolerations() int {
	for _, roles := range []bool{false, true} {
		least := 0
		for i := range r.stated.Nodes {
			taints := tainttoleration.Untolerated(r.stated.Nodes[i].Taints, r.pod.Template.Spec.Tolerations, api.Kube137())
			if len(taints) == 0 || slices.ContainsFunc(taints, func(t api.Taint) bool {
				return nodestate.Has(t.Key) || !roles && strings.HasPrefix(t.Key, "node-role.kubernetes.io/")
			}) {
				continue
			}
			var all []api.Toleration
			for _, t := range taints {
				all = append(all, api.Toleration{Key: t.Key, Value: t.Value, Effect: t.Effect})
			}
			cluster, pod := r.apply(&verdict.Change{Tolerations: all})
			if (least == 0 || len(all) < least) && len(r.feasible(cluster, pod)) > 0 {
				least = len(all)
			}
		}
		if least > 0 {
			return least
		}
	}
	return 0
}
