package answer

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Node is how full a node is, and what the answer says of it.
type Node struct {
	Name string `json:"name"`
	// Domain is the node's value of the topology key.
	Domain string `json:"domain,omitempty"`
	// Allocatable is what the node has for pods. Requested is what its pods request, with their number as "pods", and RequestedAfter
	// is that after the answer; it is absent if the answer moves no pods, or several answers move them differently.
	Allocatable    corev1.ResourceList `json:"allocatable"`
	Requested      corev1.ResourceList `json:"requested"`
	RequestedAfter corev1.ResourceList `json:"requestedAfter,omitempty"`
	// Feasible is whether the node can take the pod; only in an ExplainReport.
	Feasible *bool `json:"feasible,omitempty"`
	// State is the state of the node after the answer.
	State NodeState `json:"state,omitempty"`
	// Drained is whether the node can be drained; set for the nodes to drain and for the nodes that may be removed.
	Drained *bool `json:"drained,omitempty"`
	// Reasons are why it cannot, in kube-scheduler's words where it has them.
	Reasons []string `json:"reasons,omitempty"`
}

// NodeState is the state of a node after an answer.
type NodeState string

// The states.
const (
	Added   NodeState = "added"
	Removed NodeState = "removed"
	Failed  NodeState = "failed"
)

// NodesOf lists the nodes of a cluster. after is nil if no pods move.
func NodesOf(c *stowagev1.Cluster, key string, before, after *fill.Nodes) []Node {
	out := make([]Node, len(c.GetNodes()))
	for i, n := range c.GetNodes() {
		out[i] = Node{
			Name: n.GetName(), Domain: compact.Labels(c, n)[key],
			Allocatable: before.All[i].Allocatable, Requested: before.All[i].Requested,
		}
		if after != nil {
			out[i].RequestedAfter = after.All[i].Requested
		}
	}
	return out
}

// DomainNote is what an answer says of a domain as a whole, and whether that is good.
type DomainNote struct {
	Text string
	Good bool
}

// NodeCount is a node and a number of pods.
type NodeCount struct {
	Name string `json:"name"`
	Pods int    `json:"pods"`
}

// Move is pods that move from one node.
type Move struct {
	Namespace string `json:"namespace"`
	// Name is empty for pods that are only counted.
	Name  string      `json:"name"`
	From  string      `json:"from"`
	Pods  int         `json:"pods"`
	To    []NodeCount `json:"to"`
	Round int         `json:"round"`
}

// MoveOf returns a move of the contract with names.
func MoveOf(c *stowagev1.Cluster, m *stowagev1.PodMove) Move {
	out := Move{
		Namespace: m.GetPod().GetNamespace(), Name: m.GetPod().GetName(), Pods: int(m.GetPod().GetCount()), Round: int(m.GetRound()),
		From: c.GetNodes()[m.GetPod().GetNodeIndex()].GetName(), To: []NodeCount{},
	}
	for _, n := range m.GetNodes().GetNames() {
		if i := slices.IndexFunc(out.To, func(c NodeCount) bool { return c.Name == n }); i >= 0 {
			out.To[i].Pods++
		} else {
			out.To = append(out.To, NodeCount{n, 1})
		}
	}
	return out
}

// Object is an object by its name.
type Object struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
}

// ObjectOf names an object.
func ObjectOf(o kube.Origin) Object { return Object{o.Namespace, o.Name, o.Kind} }

// Nodes lists the nodes of a cluster as they are.
func Nodes(c *stowagev1.Cluster, key string) ([]Node, error) {
	before, err := fill.Of(c)
	if err != nil {
		return nil, err
	}
	return NodesOf(c, key, before, nil), nil
}

// NodeNames names nodes as kubectl does.
func NodeNames(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, "node/"+name)
	}
	return out
}

// PodNames names pods as kubectl does, each once.
func PodNames(names []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, name := range names {
		if name != "" && !seen[name] {
			seen[name] = true
			out = append(out, "pod/"+name)
		}
	}
	return out
}
