package kube

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// NodeStorage is what the CSI drivers of a cluster add to a node that does not exist yet.
type NodeStorage struct {
	// CSINode has the drivers with the limits of the node that Like names. Without such a node, all drivers of the cluster are installed,
	// without limits.
	CSINode *stowagev1.CSINode
	// Labels are labels of drivers' topologies that the node lacks.
	Labels map[string]string
	// Like is the name of a node with the same instance type, operating system and architecture, "" if the cluster has none.
	Like string
}

// sameMachine are the labels that nodes with the same limits of attached volumes share.
var sameMachine = [][]string{
	{corev1.LabelInstanceTypeStable, corev1.LabelInstanceType}, {corev1.LabelOSStable, "beta.kubernetes.io/os"},
	{corev1.LabelArchStable, "beta.kubernetes.io/arch"},
}

// StorageOf returns what CSI drivers add to a new node. Of the nodes of the cluster like the new one, it takes one that shares the most
// labels, as Cluster Autoscaler takes a node of the group (KEP-5030). csiNode returns the CSINode of a node, nil if there is none. drivers
// are the names of the CSIDrivers.
func StorageOf(n *corev1.Node, nodes []*corev1.Node, csiNode func(name string) *storagev1.CSINode, drivers []string) NodeStorage {
	like := NodeLike(n, nodes, func(name string) bool { return csiNode(name) != nil })
	if like == nil {
		out := NodeStorage{CSINode: &stowagev1.CSINode{}}
		for _, name := range drivers {
			out.CSINode.Drivers = append(out.CSINode.Drivers, &stowagev1.CSINodeDriver{Name: name})
		}
		return out
	}
	of := csiNode(like.Name)
	return NodeStorage{CSINode: convert.CSINode(of), Labels: topologyLabels(n, like, of), Like: like.Name}
}

// NodeLike returns a node like a new one, with the same instance type, operating system and architecture, that shares the most labels; nil if
// there is none that counts.
func NodeLike(n *corev1.Node, nodes []*corev1.Node, counts func(name string) bool) (like *corev1.Node) {
	most := -1
	for _, o := range nodes {
		if !isLike(n, o) || !counts(o.Name) {
			continue
		}
		shared := 0
		for key, value := range o.Labels {
			if n.Labels[key] == value {
				shared++
			}
		}
		if shared > most || shared == most && o.Name < like.Name {
			like, most = o, shared
		}
	}
	return like
}

func isLike(n, o *corev1.Node) bool {
	for _, keys := range sameMachine {
		if firstLabel(n, keys) != firstLabel(o, keys) {
			return false
		}
	}
	return true
}

func firstLabel(n *corev1.Node, keys []string) string {
	for _, key := range keys {
		if value := n.Labels[key]; value != "" {
			return value
		}
	}
	return ""
}

// topologyLabels returns the labels of the drivers' topology keys that a node lacks, as far as they follow from its other labels: where
// the other node's value is its zone, its region or its name. The kubelet sets them once a driver has registered, so that templates of
// empty groups lack them (kubernetes/autoscaler#4540).
func topologyLabels(n, like *corev1.Node, of *storagev1.CSINode) map[string]string {
	out := map[string]string{}
	for _, d := range of.Spec.Drivers {
		for _, key := range d.TopologyKeys {
			value := like.Labels[key]
			if _, has := n.Labels[key]; has || value == "" {
				continue
			}
			for _, known := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelHostname} {
				if like.Labels[known] == value && n.Labels[known] != "" {
					out[key] = n.Labels[known]
					break
				}
			}
		}
	}
	return out
}

// storeTemplate adds what CSI drivers add to the nodes of a template: the CSINode of the template's name, or else of a node like it.
func (b *Builder) storeTemplate(t nodeTemplate, out *Snapshot) {
	if own, ok := b.storage.nodes[t.node.Name]; ok {
		if _, exists := b.nodes.index[t.node.Name]; !exists {
			t.out.Node.CsiNode = own.message
			return
		}
	}
	if len(b.storage.nodes) == 0 {
		return
	}
	added := StorageOf(t.node, b.nodes.objects, func(name string) *storagev1.CSINode { return b.storage.nodes[name].object }, namesOf(b.cluster.CsiDrivers))
	added.Apply(t.out.Node)
	if added.Like == "" {
		out.UnlimitedTemplates = append(out.UnlimitedTemplates, t.node.Name)
	}
}

// equipTemplate gives the nodes of a template their devices: of the slices for the template's name, or else of a node like it. Without an
// instance type, it takes the node that shares the most labels, with devices or without.
func (b *Builder) equipTemplate(t nodeTemplate, out *Snapshot) {
	equipped := map[string]bool{}
	for _, s := range b.cluster.ResourceSlices {
		equipped[s.NodeName] = true
	}
	if len(equipped) == 0 {
		return
	}
	like := t.node.Name
	if _, exists := b.nodes.index[like]; exists || !equipped[like] {
		typed := firstLabel(t.node, sameMachine[0]) != ""
		node := NodeLike(t.node, b.nodes.objects, func(name string) bool { return equipped[name] || !typed })
		if node == nil {
			claiming := func(s slot) bool { return len(s.source.Pod.Spec.ResourceClaims) > 0 }
			if slices.ContainsFunc(b.queue.slots, claiming) {
				out.BareTemplates = append(out.BareTemplates, t.node.Name)
			}
			return
		}
		like = node.Name
	}
	t.out.ResourceSlices = slicesLike(b.cluster, like, t.node.Name)
}

func namesOf(drivers []*stowagev1.CSIDriver) (out []string) {
	for _, d := range drivers {
		out = append(out, d.Name)
	}
	return out
}

// Apply adds the result to a converted node.
func (s *NodeStorage) Apply(n *stowagev1.Node) {
	n.CsiNode = s.CSINode
	if len(s.Labels) > 0 {
		labels := maps.Clone(n.Labels)
		maps.Copy(labels, s.Labels)
		n.Labels = labels
	}
}
