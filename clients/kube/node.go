package kube

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// maximumImageBytes is the limit of ContainerImage.size_bytes.
const maximumImageBytes = 1 << 44

// Node converts a node, without pods. If a node without a uid has no allocatable, its capacity is used.
//
// The API server does not validate the sizes of images, which only affect scores. One outside the contract's limits becomes
// the nearest that is not; the image stays, as ImageLocality counts the nodes that have it.
func Node(n *corev1.Node) (*stowagev1.Node, error) {
	c := &converter{}
	allocatable, path := allocatableOf(n)
	out := &stowagev1.Node{
		Name:          n.Name,
		Labels:        maps.Clone(n.Labels),
		Taints:        c.taints(n.Spec.Taints, field.NewPath("spec", "taints")),
		Unschedulable: n.Spec.Unschedulable,
		Allocatable:   c.allocatable(allocatable, path),
	}
	for _, i := range n.Status.Images {
		out.Images = append(out.Images, &stowagev1.ContainerImage{
			Names: slices.Clone(i.Names), SizeBytes: min(max(i.SizeBytes, 0), maximumImageBytes),
		})
	}
	return out, c.err()
}

// Allocatable returns what a node has for pods, as Node reads it.
func Allocatable(n *corev1.Node) corev1.ResourceList {
	out, _ := allocatableOf(n)
	return out
}

// allocatableOf returns the allocatable that Node uses, and its path.
func allocatableOf(n *corev1.Node) (corev1.ResourceList, *field.Path) {
	if n.Status.Allocatable == nil && !admitted(n) {
		return n.Status.Capacity, field.NewPath("status", "capacity")
	}
	return n.Status.Allocatable, field.NewPath("status", "allocatable")
}

// Namespace converts a namespace, with the label that the API server gives every namespace.
func Namespace(n *corev1.Namespace) *stowagev1.Namespace {
	out := &stowagev1.Namespace{Name: n.Name, Labels: maps.Clone(n.Labels)}
	if !admitted(n) {
		if out.Labels == nil {
			out.Labels = map[string]string{}
		}
		out.Labels[corev1.LabelMetadataName] = n.Name
	}
	return out
}
