package enginetest

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
)

// Node builds a node.
type Node struct{ api.Node }

// MakeNode starts a node with 8 CPUs, 32 GiB and room for 110 pods, and its hostname label.
func MakeNode(name string) *Node {
	n := &Node{api.Node{Name: name, NodeSpec: api.NodeSpec{Allocatable: Resources("cpu", 8000, "memory", 32<<30, "pods", 110)}}}
	return n.Label("kubernetes.io/hostname", name)
}

// Label adds a label.
func (n *Node) Label(key, value string) *Node {
	n.Labels = n.Labels.With(api.Labels{{Key: key, Value: value}})
	return n
}

// Zone adds the zone label.
func (n *Node) Zone(zone string) *Node { return n.Label("topology.kubernetes.io/zone", zone) }

// Allocate replaces the allocatable resources by pairs of name and amount.
func (n *Node) Allocate(pairs ...any) *Node {
	n.Allocatable = Resources(pairs...)
	return n
}

// Taint adds a taint.
func (n *Node) Taint(key, value string, effect api.TaintEffect) *Node {
	n.Taints = append(n.Taints, api.Taint{Key: key, Value: value, Effect: effect})
	return n
}

// Image adds an image.
func (n *Node) Image(name string, bytes int64) *Node {
	n.Images = append(n.Images, api.Image{Names: []string{name}, SizeBytes: bytes})
	return n
}

// Cordon makes the node unschedulable.
func (n *Node) Cordon() *Node {
	n.Unschedulable = true
	return n
}

// Run puts pods on the node.
func (n *Node) Run(pods ...*Pod) *Node {
	for _, p := range pods {
		n.Pods = append(n.Pods, p.Pod)
	}
	return n
}

// Nominate nominates pods to the node.
func (n *Node) Nominate(pods ...*Pod) *Node {
	for _, p := range pods {
		n.Nominated = append(n.Nominated, p.Pod)
	}
	return n
}

// Resources returns resources from pairs of name and amount.
func Resources(pairs ...any) api.Resources {
	r := api.Resources{}
	for i := 0; i < len(pairs); i += 2 {
		var amount int64
		switch v := pairs[i+1].(type) {
		case int:
			amount = int64(v)
		case int64:
			amount = v
		}
		r = append(r, api.Quantity{Resource: pairs[i].(string), Amount: amount})
	}
	slices.SortFunc(r, func(a, b api.Quantity) int { return strings.Compare(a.Resource, b.Resource) })
	return r
}

// Cluster returns a cluster of nodes.
func Cluster(nodes ...*Node) *api.Cluster {
	c := &api.Cluster{}
	for _, n := range nodes {
		c.Nodes = append(c.Nodes, n.Node)
	}
	return c
}

// Pod builds a pod.
type Pod struct{ api.Pod }

// MakePod starts a pod in the namespace default, with one container without requests.
func MakePod(name string) *Pod {
	return &Pod{api.Pod{Name: name, TemplateIndex: -1, Template: &api.PodTemplate{
		Namespace: "default",
		Spec:      api.PodSpec{Containers: []api.Container{{Name: "main"}}},
	}}}
}

func (p *Pod) spec() *api.PodSpec { return &p.Template.Spec }

// Namespace sets the namespace.
func (p *Pod) Namespace(namespace string) *Pod {
	p.Template.Namespace = namespace
	return p
}

// Label adds a label.
func (p *Pod) Label(key, value string) *Pod {
	p.Template.Labels = p.Template.Labels.With(api.Labels{{Key: key, Value: value}})
	return p
}

// Group puts the pod into a pod group of its namespace.
func (p *Pod) Group(name string) *Pod {
	p.spec().SchedulingGroup = name
	return p
}

// Request sets the container's requests from pairs of name and amount.
func (p *Pod) Request(pairs ...any) *Pod {
	p.spec().Containers[0].Requests = Resources(pairs...)
	return p
}

// Terminate gives the pod a deletion timestamp.
func (p *Pod) Terminate() *Pod {
	p.Terminating = true
	return p
}

// Priority sets the priority.
func (p *Pod) Priority(priority int32) *Pod {
	p.spec().Priority = priority
	return p
}

// NominatedTo nominates the pod, which is to be placed, to a node.
func (p *Pod) NominatedTo(node string) *Pod {
	p.NominatedNode = node
	return p
}

// HostPort adds a host port.
func (p *Pod) HostPort(port int32) *Pod {
	c := &p.spec().Containers[0]
	c.HostPorts = append(c.HostPorts, api.HostPort{Port: port})
	return p
}

// Tolerate adds a toleration.
func (p *Pod) Tolerate(t api.Toleration) *Pod {
	p.spec().Tolerations = append(p.spec().Tolerations, t)
	return p
}

// Affinity adds a required pod affinity term.
func (p *Pod) Affinity(key string, selects *api.LabelSelector) *Pod {
	if p.spec().PodAffinity == nil {
		p.spec().PodAffinity = &api.PodAffinity{}
	}
	a := p.spec().PodAffinity
	a.Required = append(a.Required, api.PodAffinityTerm{TopologyKey: key, LabelSelector: selects})
	return p
}

// AntiAffinity adds a required pod anti-affinity term.
func (p *Pod) AntiAffinity(key string, selects *api.LabelSelector) *Pod {
	a := p.antiAffinity()
	a.Required = append(a.Required, api.PodAffinityTerm{TopologyKey: key, LabelSelector: selects})
	return p
}

// PreferAntiAffinity adds a preferred pod anti-affinity term.
func (p *Pod) PreferAntiAffinity(weight int32, key string, selects *api.LabelSelector) *Pod {
	a := p.antiAffinity()
	term := api.PodAffinityTerm{TopologyKey: key, LabelSelector: selects}
	a.Preferred = append(a.Preferred, api.WeightedPodAffinityTerm{Weight: weight, Term: term})
	return p
}

func (p *Pod) antiAffinity() *api.PodAffinity {
	if p.spec().PodAntiAffinity == nil {
		p.spec().PodAntiAffinity = &api.PodAffinity{}
	}
	return p.spec().PodAntiAffinity
}

// Spread adds a hard spread constraint.
func (p *Pod) Spread(key string, maxSkew int32, selects *api.LabelSelector) *Pod {
	p.spec().Spread = append(p.spec().Spread, api.TopologySpreadConstraint{
		TopologyKey: key, MaxSkew: maxSkew, MinDomains: 1, LabelSelector: selects,
	})
	return p
}

// SpreadSoftly adds a soft spread constraint.
func (p *Pod) SpreadSoftly(key string, maxSkew int32, selects *api.LabelSelector) *Pod {
	p.Spread(key, maxSkew, selects)
	p.spec().Spread[len(p.spec().Spread)-1].ScheduleAnyway = true
	return p
}

// Selects returns a selector of one label.
func Selects(key, value string) *api.LabelSelector {
	return &api.LabelSelector{MatchLabels: api.Labels{{Key: key, Value: value}}}
}
