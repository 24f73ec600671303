package kube

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ErrCounted is the error of a Snapshot that was built with Options.CountPods, where the pods are needed.
var ErrCounted = errors.New("the snapshot was built with CountPods: its pods have no names")

// PodsOn iterates over the pods of a node of the cluster, by its index, with the objects that were added.
func (s *Snapshot) PodsOn(node int) (iter.Seq2[*corev1.Pod, *stowagev1.Pod], error) {
	pods, residents := s.Cluster.Nodes[node].Pods, s.residents[node]
	if len(pods) != len(residents) || len(s.Cluster.Nodes[node].PodCounts) > 0 {
		return nil, ErrCounted
	}
	return func(yield func(*corev1.Pod, *stowagev1.Pod) bool) {
		for i, r := range residents {
			if !yield(r.facts.stamp.pod, pods[i]) {
				return
			}
		}
	}, nil
}

// PendingPod converts a further pending pod, with a template of its own, as Build converts those of the queue. It may be called
// concurrently.
func (s *Snapshot) PendingPod(p *corev1.Pod) (*stowagev1.Pod, error) {
	f := factsOf(podOrigin(p), specPath, stamp{pod: p, count: 1})
	out, err := s.admission.pendingPod(f)
	if err != nil {
		return nil, err
	}
	s.around.complete(out, f)
	return out, nil
}

// RunningPod converts a further pod on a node, with a template of its own, as Build converts those that were added. It may be
// called concurrently.
func (s *Snapshot) RunningPod(p *corev1.Pod) Occupant { return s.admission.running(p) }

// OnNode is a pod on a node of the cluster.
type OnNode struct {
	Pod *corev1.Pod
	// Object and Workload are as in Displaced.
	Object, Workload Origin
	// Node is the index of its node.
	Node int
}

// OnNodes iterates over the pods on nodes, in the order of nodes and then as they were added.
func (s *Snapshot) OnNodes() iter.Seq[OnNode] {
	return func(yield func(OnNode) bool) {
		for i := range s.Cluster.Nodes {
			for _, r := range s.residents[i] {
				if p := r.facts.stamp.pod; !yield(OnNode{p, r.facts.object, s.WorkloadOf(p), i}) {
					return
				}
			}
		}
	}
}

// Without returns the cluster without a pod on a node. The other nodes are those of the snapshot's cluster.
func (s *Snapshot) Without(p OnNode) *stowagev1.Cluster {
	out := &stowagev1.Cluster{}
	s.Cluster.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		out.ProtoReflect().Set(f, v)
		return true
	})
	n := &stowagev1.Node{}
	s.Cluster.Nodes[p.Node].ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		n.ProtoReflect().Set(f, v)
		return true
	})
	n.Pods = slices.DeleteFunc(slices.Clone(n.Pods), func(o *stowagev1.Pod) bool {
		return o.GetName() == p.Object.Name && s.namespaceOf(o) == p.Object.Namespace
	})
	out.Nodes = slices.Clone(s.Cluster.Nodes)
	out.Nodes[p.Node] = n
	return out
}

// namespaceOf returns the namespace of a pod of the cluster.
func (s *Snapshot) namespaceOf(p *stowagev1.Pod) string {
	t := p.GetTemplate()
	if t == nil {
		t = s.Cluster.PodTemplates[p.GetTemplateIndex()]
	}
	return cmp.Or(t.GetNamespace(), metav1.NamespaceDefault)
}

// Again returns a pod on a node as the pending pod that it would be without one.
func (s *Snapshot) Again(p OnNode) (*stowagev1.Pod, error) {
	free := *p.Pod
	free.Spec.NodeName, free.Status.NominatedNodeName = "", ""
	return s.PendingPod(&free)
}
