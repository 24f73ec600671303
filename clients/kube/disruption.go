package kube

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Disruption is what happens to nodes and to pods on nodes, all by name. Its zero value is that nothing does.
type Disruption struct {
	Name string
	// Lost are nodes that are gone with all of their pods.
	Lost []string
	// NodesStay says that the API server still has the lost nodes, which are not reachable: they have the taints of such nodes, and
	// their pods are terminating.
	NodesStay bool
	// Cordoned are nodes that take no more pods.
	Cordoned []string
	// Evicted are pods that leave their nodes.
	Evicted []Origin
}

// WhatIfRequest returns a request with no scenarios yet. Its response names nodes.
func (s *Snapshot) WhatIfRequest() *stowagev1.WhatIfRequest {
	return &stowagev1.WhatIfRequest{Context: s.context()}
}

// Scenario returns a disruption with the pods to place afterwards: the queue of the snapshot, then the pods that controllers
// create again. The latter are in their pod groups.
func (s *Snapshot) Scenario(d *Disruption) (*stowagev1.Scenario, error) {
	out := &stowagev1.Scenario{Name: d.Name, RequeueEvicted: true, Queue: s.queued(), PodGroups: s.PodGroups}
	lost, err := s.Candidates(d.Lost)
	if err != nil {
		return nil, err
	}
	cordoned, err := s.Candidates(d.Cordoned)
	if err != nil {
		return nil, err
	}
	out.CordonedNodes = cordoned.GetNames()
	if d.NodesStay {
		out.Delta, out.EvictedPods = s.unreachable(lost.GetNames()), stowagev1.EvictedPods_EVICTED_PODS_TERMINATING
	} else {
		out.RemovedNodes = lost.GetNames()
	}
	for _, name := range lost.GetNames() {
		out.Evictions = append(out.Evictions, &stowagev1.NodeEvictions{NodeName: name, Drained: true})
	}
	return out, s.evict(d, lost.GetNames(), out)
}

// unreachable gives nodes the taints that the node lifecycle controller adds to nodes whose kubelets have gone silent
// (pkg/controller/nodelifecycle/node_lifecycle_controller.go, v1.37).
func (s *Snapshot) unreachable(nodes []string) *stowagev1.ClusterDelta {
	out := &stowagev1.ClusterDelta{}
	lost := map[string]bool{}
	for _, name := range nodes {
		lost[name] = true
	}
	for _, n := range s.Cluster.Nodes {
		if !lost[n.Name] {
			continue
		}
		n = proto.Clone(n).(*stowagev1.Node)
		n.Taints = slices.DeleteFunc(n.Taints, func(t *stowagev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
		for _, effect := range []stowagev1.TaintEffect{
			stowagev1.TaintEffect_TAINT_EFFECT_NO_SCHEDULE, stowagev1.TaintEffect_TAINT_EFFECT_NO_EXECUTE,
		} {
			n.Taints = append(n.Taints, &stowagev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: effect})
		}
		out.Nodes = append(out.Nodes, n)
	}
	return out
}

// evict adds the pods that leave nodes which stay.
func (s *Snapshot) evict(d *Disruption, lost []string, out *stowagev1.Scenario) error {
	evicted := map[Origin]bool{}
	for _, o := range d.Evicted {
		evicted[o] = true
	}
	for i, n := range s.Cluster.Nodes {
		var pods []*stowagev1.NamespacedName
		for _, r := range s.added.residents[i] {
			if o := r.source.Object; evicted[o] {
				delete(evicted, o)
				pods = append(pods, &stowagev1.NamespacedName{Namespace: o.Namespace, Name: o.Name})
			}
		}
		if len(pods) > 0 && !slices.Contains(lost, n.Name) {
			out.Evictions = append(out.Evictions, &stowagev1.NodeEvictions{NodeName: n.Name, Pods: pods})
		}
	}
	for _, o := range d.Evicted {
		if evicted[o] {
			return fmt.Errorf("there is no %s on a node", o)
		}
	}
	return nil
}

// Fate is the fate of a pod that leaves its node.
type Fate int

// The fates of pods.
const (
	// Returns: the pod's controller creates a replacement.
	Returns Fate = iota
	// Uncontrolled: the pod has no controller and is lost.
	Uncontrolled
	// Tied: the pod's DaemonSet or the kubelet made it for its node, with which it is gone.
	Tied
	// Terminating: the pod was about to leave.
	Terminating
)

// Displaced is a pod that leaves its node.
type Displaced struct {
	OnNode
	Fate Fate
	// PodGroup is the group that the pod is in, empty if there is none.
	PodGroup string
}

// Displaced returns the pods that leave their nodes by a disruption, in the order of nodes and then as they were added.
func (s *Snapshot) Displaced(d *Disruption) []Displaced {
	var out []Displaced
	for i, n := range s.Cluster.Nodes {
		lost := slices.Contains(d.Lost, n.Name)
		if !lost && len(d.Evicted) == 0 {
			continue
		}
		for _, r := range s.added.residents[i] {
			if lost || slices.Contains(d.Evicted, r.source.Object) {
				out = append(out, Displaced{OnNode: s.onNode(r, i), Fate: fateOf(r.source.Pod), PodGroup: r.source.PodGroup()})
			}
		}
	}
	return out
}

func fateOf(p *corev1.Pod) Fate {
	switch {
	case p.DeletionTimestamp != nil:
		return Terminating
	case StaysGone(p) != "":
		return Tied
	case metav1.GetControllerOfNoCopy(p) == nil:
		return Uncontrolled
	}
	return Returns
}

// NodesWhere returns the names of the nodes that a selector selects by their labels.
func (s *Snapshot) NodesWhere(by labels.Selector) []string {
	var out []string
	for _, n := range s.added.nodes {
		if by.Matches(labels.Set(n.Labels)) {
			out = append(out, n.Name)
		}
	}
	return out
}

// Domains returns the nodes of each domain of a topology key, by name.
func (s *Snapshot) Domains(key string) map[string][]string {
	out := map[string][]string{}
	for _, n := range s.added.nodes {
		if value, ok := n.Labels[key]; ok {
			out[value] = append(out[value], n.Name)
		}
	}
	return out
}
