package kube

import (
	"errors"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The annotations of a Node that is a template of nodes to add.
const (
	// NodePriceAnnotation is the price of a node, a whole number in a unit that all templates share. Required. A node of the
	// cluster may have it, too: see Snapshot.ConsolidateRequest.
	NodePriceAnnotation = "stowage.scheduling/price"
	// NodeMaxCountAnnotation is the number of nodes at most.
	NodeMaxCountAnnotation = "stowage.scheduling/max-count"
)

// nodeTemplate is a template of nodes to add, whose DaemonSets' pods are not known until everything is added.
type nodeTemplate struct {
	node *corev1.Node
	out  *stowagev1.NodeTemplate
}

// AddNodeTemplate adds a template of nodes to add: a node as it is once it is ready. Its annotations have its price. The pods
// that come with it are those of all DaemonSets that were added, whether they were admitted by an API server or not.
func (b *Builder) AddNodeTemplate(n *corev1.Node) error {
	if err := b.once("node template", "", n.Name); err != nil {
		return err
	}
	out := &stowagev1.NodeTemplate{}
	at := field.NewPath("metadata", "annotations")
	price, found := n.Annotations[NodePriceAnnotation]
	if !found {
		return field.Required(at.Key(NodePriceAnnotation), "a template has a price")
	}
	var err error
	if out.Price, err = strconv.ParseUint(price, 10, 64); err != nil {
		return field.Invalid(at.Key(NodePriceAnnotation), price, "must be a whole number, 0 or more")
	}
	if most, found := n.Annotations[NodeMaxCountAnnotation]; found {
		count, err := strconv.ParseUint(most, 10, 32)
		if err != nil {
			return field.Invalid(at.Key(NodeMaxCountAnnotation), most, "must be a whole number, 0 or more")
		}
		out.MaxCount = new(uint32(count))
	}
	if out.Node, err = Node(n); err != nil {
		return err
	}
	b.places[out], b.places[out.Node] = place{at: b.at}, place{at: b.at}
	if _, path := allocatableOf(n); out.Node.Allocatable != nil {
		b.places[out.Node.Allocatable] = place{at: b.at, path: path.String()}
	}
	b.templates = append(b.templates, nodeTemplate{n, out})
	return nil
}

// nodeTemplates returns the templates with the pods of DaemonSets. share makes pods refer to the cluster's templates.
func (b *Builder) nodeTemplates(share func(*stowagev1.Pod) error) ([]*stowagev1.NodeTemplate, error) {
	var out []*stowagev1.NodeTemplate
	for _, t := range b.templates {
		for _, ds := range b.daemonSets {
			stamps, err := daemonPods(ds, []*corev1.Node{t.node})
			if err != nil {
				return nil, err
			}
			for _, s := range stamps {
				p := s.pod
				p.Spec.Affinity.NodeAffinity = nil // which names the node
				p.Spec.NodeName = t.node.Name
				running := b.admission.running(p)
				if err := running.err(); err != nil {
					return nil, fmt.Errorf("DaemonSet %s/%s: %w", namespaceOf(ds), ds.Name, err)
				}
				if err := share(running.Pod); err != nil {
					return nil, err
				}
				t.out.Node.Pods = append(t.out.Node.Pods, running.Pod)
			}
		}
		compact.CountPods(t.out.Node)
		out = append(out, t.out)
	}
	return out, nil
}

// AddNewNode adds a node that does not exist yet, as it is once it is ready. It has the pods of the DaemonSets that exist;
// those of DaemonSets without a uid are in the queue, as for other nodes.
func (b *Builder) AddNewNode(n *corev1.Node) error {
	err := b.AddNode(n)
	b.fresh = append(b.fresh, n)
	return err
}

// bringDaemons puts the pods of DaemonSets on new nodes.
func (b *Builder) bringDaemons() error {
	for _, n := range b.fresh {
		for _, ds := range b.daemonSets {
			if !admitted(ds) {
				continue
			}
			p, err := DaemonPod(ds, n)
			if err != nil {
				return err
			}
			if p == nil {
				continue
			}
			b.at = "DaemonSet " + namespaceOf(ds) + "/" + ds.Name
			if err := b.addRunning(p); err != nil && !errors.As(err, new(*Misread)) {
				return err
			}
		}
	}
	return nil
}

// keepDaemonSet remembers a DaemonSet for templates of nodes.
func (b *Builder) keepDaemonSet(ds *appsv1.DaemonSet) {
	b.daemonSets = append(b.daemonSets, ds.DeepCopy())
}

// ProvisionRequest returns a request for nodes to add, so that the pods of the queue have nodes. Its response names nodes.
func (s *Snapshot) ProvisionRequest() *stowagev1.ProvisionRequest {
	r := &stowagev1.ProvisionRequest{Context: s.context(), PodGroups: s.PodGroups, Templates: s.NodeTemplates}
	for _, e := range s.Queue {
		r.Queue = append(r.Queue, e.Pods)
	}
	return r
}
