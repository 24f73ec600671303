// Package fill adds up what pods take of nodes, so that answers can show how full nodes are before and after them.
//
// Amounts are counted as NodeResourcesFit does: the requests of pods, with their overhead and what the kubelet allocated
// during a resize, and the number of pods. Devices of ResourceSlices are counted by driver. A Nodes is for one goroutine.
package fill

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Node is how full a node is.
type Node struct {
	// Allocatable is what the node has for pods. Requested is what its pods take, with their number as "pods"; it may be more. CPU,
	// memory and pods are always there, also if they are 0. Devices are there under DevicesPrefix and their driver.
	Allocatable, Requested corev1.ResourceList
}

// Nodes are the nodes of a cluster, in its order.
type Nodes struct {
	cluster   *stowagev1.Cluster
	templates map[uint32]corev1.ResourceList // what pods of a template take
	devices   *objects                       // nil for none
	taken     taken
	All       []Node
}

// Of returns how full the nodes of a cluster are.
func Of(c *stowagev1.Cluster) (*Nodes, error) {
	out := &Nodes{cluster: c, templates: map[uint32]corev1.ResourceList{}, All: make([]Node, len(c.GetNodes())), devices: readDevices(c)}
	for i, n := range c.GetNodes() {
		whole, err := compact.WholeNode(c, n)
		if err != nil {
			return nil, fmt.Errorf("nodes[%d].%w", i, err)
		}
		node := Node{Allocatable: convert.Quantities(whole.GetAllocatable()), Requested: corev1.ResourceList{}}
		if node.Allocatable == nil {
			node.Allocatable = corev1.ResourceList{}
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
			node.Requested[name] = convert.Quantity(name, 0)
		}
		for _, p := range n.GetPods() {
			node.add(out.takes(p), 1)
		}
		for _, p := range n.GetPodCounts() {
			node.add(out.ofTemplate(p.GetTemplateIndex()), int64(p.GetCount()))
		}
		out.All[i] = node
	}
	out.taken = taken{map[string]bool{}, map[place]int{}, map[place]map[string]int64{}}
	if out.devices != nil {
		for i := range out.All {
			out.count(i)
		}
		for _, claim := range c.GetResourceClaims() {
			out.Take(claim.GetAllocation().GetDevices())
		}
	}
	return out, nil
}

// Clone returns a copy that changes apart from the original.
func (n *Nodes) Clone() *Nodes {
	out := *n
	out.taken = n.taken.clone()
	out.All = make([]Node, len(n.All))
	for i, node := range n.All {
		out.All[i] = Node{Allocatable: node.Allocatable, Requested: node.Requested.DeepCopy()}
	}
	return &out
}

// Add adds a number of pods to a node, without devices.
func (n *Nodes) Add(node uint32, p *stowagev1.Pod, pods int) {
	n.All[node].add(n.takes(p), int64(pods))
}

// Move takes pods off their node and adds them to others, one to each. Without others they are gone. Pods of a queue are not on
// nodes of the cluster, and are left alone. Devices on other nodes are estimated.
func (n *Nodes) Move(pods *stowagev1.PodReference, to []uint32) {
	if _, queued := pods.GetOrigin().(*stowagev1.PodReference_QueueIndex); queued {
		return
	}
	takes := n.ofTemplate(pods.GetTemplateIndex())
	occupied := takes
	if p := n.named(pods); p != nil {
		occupied = n.takes(p) // with its status, which does not come along
	}
	n.All[pods.GetNodeIndex()].add(occupied, -int64(pods.GetCount()))
	if pods.GetName() != "" {
		n.leave(pods.GetNamespace(), pods.GetName())
	}
	for _, node := range to {
		n.All[node].add(takes, 1)
		n.Estimate(node, &stowagev1.Pod{Source: &stowagev1.Pod_TemplateIndex{TemplateIndex: pods.GetTemplateIndex()}}, 1)
	}
}

// named returns the pod of a name, nil for pods that are only counted.
func (n *Nodes) named(ref *stowagev1.PodReference) *stowagev1.Pod {
	if ref.GetName() == "" {
		return nil
	}
	for _, p := range n.cluster.GetNodes()[ref.GetNodeIndex()].GetPods() {
		if p.GetName() == ref.GetName() && compact.Template(n.cluster, p).GetNamespace() == ref.GetNamespace() {
			return p
		}
	}
	return nil
}

// takes is what a pod takes of a node.
func (n *Nodes) takes(p *stowagev1.Pod) corev1.ResourceList {
	if t := p.GetTemplate(); t != nil || p.GetResourceStatus() != nil {
		return convert.Occupies(compact.Template(n.cluster, p).GetSpec(), p.GetResourceStatus())
	}
	return n.ofTemplate(p.GetTemplateIndex())
}

func (n *Nodes) ofTemplate(index uint32) corev1.ResourceList {
	out, known := n.templates[index]
	if !known {
		if all := n.cluster.GetPodTemplates(); int(index) < len(all) {
			out = convert.Occupies(all[index].GetSpec(), nil)
		}
		n.templates[index] = out
	}
	return out
}

// add adds a number of pods that take the same, or takes them off.
func (n *Node) add(takes corev1.ResourceList, pods int64) {
	for name, q := range takes {
		more := q.DeepCopy()
		more.Mul(pods)
		sum, counted := n.Requested[name]
		if !counted {
			sum.Format = more.Format
		}
		sum.Add(more)
		n.Requested[name] = sum
	}
	count := n.Requested[corev1.ResourcePods]
	count.Add(*resource.NewQuantity(pods, resource.DecimalSI))
	n.Requested[corev1.ResourcePods] = count
}

// Percent is the part of a resource that is requested, rounded down. It is not ok if the node does not have the resource.
func (n *Node) Percent(name corev1.ResourceName) (percent int, ok bool) {
	has := n.Allocatable[name]
	if has.Sign() <= 0 {
		return 0, false
	}
	requested := n.Requested[name]
	const rounding = 1e-9 // of the division
	return int(100*requested.AsApproximateFloat64()/has.AsApproximateFloat64() + rounding), true
}
