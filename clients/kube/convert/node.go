// Package convert converts Kubernetes objects into messages of the contract, each by itself. It has the paths of the messages in the
// objects, too, and finds the fields of pods that kube-scheduler reads and the contract does not have.
//
// Quantities become whole units: cpu in thousandths of a core, everything else in ones. Where a pod has fractions, each
// amount is the increase of the rounded running sum, so that all sums equal the sums that kube-scheduler rounds up.
package convert

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
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
	out.DeclaredFeatures = ascending(skew.DeclaredFeatures(&n.Status))
	for _, i := range n.Status.Images {
		out.Images = append(out.Images, &stowagev1.ContainerImage{
			Names: slices.Clone(i.Names), SizeBytes: min(max(i.SizeBytes, 0), maximumImageBytes),
		})
	}
	return out, c.err()
}

// ascending returns the features that kube-scheduler reads of a list. It walks the list beside its own ascending one, and so skips a name
// that does not follow all names before it (k8s.io/component-helpers/nodedeclaredfeatures/featureset.go TryMap, v0.37). The API server
// rejects such a list.
func ascending(features []string) []string {
	var out []string
	last := ""
	for _, name := range features {
		if name > last {
			out, last = append(out, name), name
		}
	}
	return out
}

// Allocatable returns what a node has for pods, as Node reads it.
func Allocatable(n *corev1.Node) corev1.ResourceList {
	out, _ := allocatableOf(n)
	return out
}

// allocatableOf returns the allocatable that Node uses, and its path.
func allocatableOf(n *corev1.Node) (corev1.ResourceList, *field.Path) {
	if n.Status.Allocatable == nil && !object.Admitted(n) {
		return n.Status.Capacity, field.NewPath("status", "capacity")
	}
	return n.Status.Allocatable, field.NewPath("status", "allocatable")
}

// Namespace converts a namespace, with the label that the API server gives every namespace.
func Namespace(n *corev1.Namespace) *stowagev1.Namespace {
	out := &stowagev1.Namespace{Name: n.Name, Labels: maps.Clone(n.Labels)}
	if !object.Admitted(n) {
		if out.Labels == nil {
			out.Labels = map[string]string{}
		}
		out.Labels[corev1.LabelMetadataName] = n.Name
	}
	return out
}

// Close makes a node reject pods, whatever their tolerations. Its labels, taints and images, and the pods on it, still
// count.
func Close(n *stowagev1.Node) {
	n.Unschedulable, n.Allocatable = true, &stowagev1.Resources{}
}

// Bare returns a node with its labels alone: pods on it count for topology, and it rejects pods.
func Bare(n *stowagev1.Node) *stowagev1.Node {
	out := &stowagev1.Node{Name: n.Name, Labels: n.Labels}
	Close(out)
	return out
}

// The annotations of a Node that is a template of nodes to add.
const (
	// NodePriceAnnotation is the price of a node, a whole number in a unit that all templates share. Required. A node of the
	// cluster may have it, too: see Snapshot.ConsolidateRequest of package kube.
	NodePriceAnnotation = "stowage.scheduling/price"
	// NodeMaxCountAnnotation is the number of nodes at most.
	NodeMaxCountAnnotation = "stowage.scheduling/max-count"
)

// NodeTemplate converts a template of nodes to add, without pods.
func NodeTemplate(n *corev1.Node) (*stowagev1.NodeTemplate, error) {
	out := &stowagev1.NodeTemplate{}
	at := field.NewPath("metadata", "annotations")
	price, found := n.Annotations[NodePriceAnnotation]
	if !found {
		return nil, field.Required(at.Key(NodePriceAnnotation), "a template has a price")
	}
	var err error
	if out.Price, err = strconv.ParseUint(price, 10, 64); err != nil {
		return nil, field.Invalid(at.Key(NodePriceAnnotation), price, "must be a whole number, 0 or more")
	}
	if most, found := n.Annotations[NodeMaxCountAnnotation]; found {
		count, err := strconv.ParseUint(most, 10, 32)
		if err != nil {
			return nil, field.Invalid(at.Key(NodeMaxCountAnnotation), most, "must be a whole number, 0 or more")
		}
		out.MaxCount = new(uint32(count))
	}
	if out.Node, err = Node(n); err != nil {
		return nil, err
	}
	return out, nil
}
