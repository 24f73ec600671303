package cluster

import (
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Group is the pods of one shape and one template, and their nodes. A compiled cluster may have groups without pods.
type Group struct {
	*Shape
	// Members are the pods' nodes, Members.Nodes in ascending order. Only a State has Assumed ones.
	topology.Members
	// Template is the index of the pods' template in the cluster, -1 if they have templates of their own.
	Template int
}

// On returns the number of the group's pods on a node, without the pods that the request assumed.
func (g *Group) On(node uint32) int {
	if i, ok := slices.BinarySearch(g.Nodes, node); ok {
		return g.Count(i)
	}
	return 0
}

// Pods returns the number of the group's pods, with the pods that the request assumed.
func (g *Group) Pods() (n int) {
	for _, count := range g.All() {
		n += count
	}
	return n
}

// empty reports whether the group had no pods before the request placed any.
func (g *Group) empty() bool { return len(g.Nodes) == 0 }

// Has reports whether the group has pods on a node.
func (g *Group) Has(node uint32) bool { return g.On(node) > 0 || slices.Contains(g.Assumed, node) }

// NamedPod is an existing pod with a name, as opposed to pods that are counted by template.
type NamedPod struct {
	Name  string
	Group int32
	load  int32 // index in Cluster.loads, or asTemplate
	// started is the start time in nanoseconds, 0 if unknown. It is inverted, which makes it negative, if kube-scheduler
	// preempted the pod.
	started int64
	// unread are the pod's unread fields, nil for none.
	unread *[]api.UnreadField
}

func (p *NamedPod) unreadFields() []api.UnreadField {
	if p.unread == nil {
		return nil
	}
	return *p.unread
}

// unreadOf copies the unread fields of a pod.
func unreadOf(p *api.Pod) *[]api.UnreadField {
	if len(p.Unread) == 0 {
		return nil
	}
	out := make([]api.UnreadField, len(p.Unread))
	for i, u := range p.Unread {
		out[i] = api.UnreadField{
			Object: strings.Clone(u.Object), Field: strings.Clone(u.Field), Consequence: strings.Clone(u.Consequence),
		}
	}
	return &out
}

func startOf(p *api.Pod) int64 {
	if p.Preempted {
		return ^p.StartTime
	}
	return p.StartTime
}

// startTime returns the pod's start time, 0 if it has none.
func (p *NamedPod) startTime() int64 {
	if p.preempted() {
		return ^p.started
	}
	return p.started
}

func (p *NamedPod) preempted() bool { return p.started < 0 }
