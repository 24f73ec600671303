package api

import (
	"cmp"
	"slices"
	"strings"
)

// Cluster is everything that a decision depends on, except the pod and the profile.
type Cluster struct {
	Nodes             []Node
	Templates         []*PodTemplate
	Classes           []*NodeClass
	Namespaces        []Namespace // names unique
	WorkloadSelectors []WorkloadSelector
	Budgets           []PodDisruptionBudget // namespaces and names unique
	PodGroups         []PodGroup            // names unique
	Storage           Storage
	Devices           Devices
}

// NodeSpec is what a node has of its own or of its class.
type NodeSpec struct {
	Labels      Labels
	Taints      []Taint
	Allocatable Resources
	Images      []Image
	// DeclaredFeatures are the names of features, in any order.
	DeclaredFeatures []string
	CSINode          *CSINode // nil for none
}

// Over returns the resolved spec of a node of a class. Labels and resources of the node override equal keys of the class. Taints,
// images and declared features of the node follow the lists of the class. The CSINode of the node replaces the CSINode of the class.
func (s *NodeSpec) Over(class *NodeSpec) NodeSpec {
	allocatable := slices.Clone(s.Allocatable)
	for _, q := range class.Allocatable {
		if _, own := s.Allocatable.Get(q.Resource); !own {
			allocatable = append(allocatable, q)
		}
	}
	slices.SortFunc(allocatable, func(a, b Quantity) int { return strings.Compare(a.Resource, b.Resource) })
	return NodeSpec{
		Labels:      class.Labels.With(s.Labels),
		Taints:      slices.Concat(class.Taints, s.Taints),
		Allocatable: allocatable,
		Images:      slices.Concat(class.Images, s.Images),

		DeclaredFeatures: slices.Concat(class.DeclaredFeatures, s.DeclaredFeatures),
		CSINode:          cmp.Or(s.CSINode, class.CSINode),
	}
}

// NodeClass is what nodes of one kind share.
type NodeClass struct {
	NodeSpec
	// NameLabelKeys are the keys of labels whose value is the node's name. They override Labels.
	NameLabelKeys []string
}

// Node is a node with its pods.
type Node struct {
	Name string // not empty, unique
	// Class is one of Cluster.Classes; nil for none.
	Class *NodeClass
	NodeSpec
	Unschedulable bool
	// AttachedVolumes are the names of volumes that are attached to the node, whether or not its pods use them.
	AttachedVolumes []string
	PodCounts       []PodCount
	Pods            []Pod
	// Nominated are pending pods that are nominated to the node, each with a name.
	Nominated []Pod
}

// PodCount is a number of pods of a template on a node.
type PodCount struct {
	Template    int   // index into Cluster.Templates
	Count       int32 // at least 1
	Terminating bool
	Readiness   Readiness
}

// Image is an image on a node.
type Image struct {
	Names     []string
	SizeBytes int64
}

// Namespace is a namespace with its labels.
type Namespace struct {
	Name   string
	Labels Labels
}

// WorkloadKind is the kind of an object whose selector takes part in default spreading, or of a controller.
type WorkloadKind uint8

// The kinds. NoWorkload is no object. Only controllers are of the last two kinds, and they have no names here: a DaemonSet, or
// another object whose pods return to their own node alone, and any other kind.
const (
	NoWorkload WorkloadKind = iota
	Service
	ReplicationController
	ReplicaSet
	StatefulSet
	DaemonSet
	OtherController
)

// WorkloadSelector is a Service's or controller's pod selector. A Service without Selector selects nothing.
type WorkloadSelector struct {
	Kind      WorkloadKind
	Namespace string
	Name      string
	Selector  *LabelSelector
}

// PodDisruptionBudget limits the pods that may be evicted. Victims use up budgets in the order of Cluster.Budgets.
type PodDisruptionBudget struct {
	Namespace string // not empty
	Name      string
	// Selector selects no pods if it is nil or empty, or if kube-scheduler cannot parse it.
	Selector           *LabelSelector
	DisruptionsAllowed int32
	// Disrupted are the names of pods that do not use up the budget.
	Disrupted []string
	// AlwaysAllow is the unhealthyPodEvictionPolicy AlwaysAllow.
	AlwaysAllow                    bool
	CurrentHealthy, DesiredHealthy int32
	// Outdated reports whether the status is older than the spec.
	Outdated bool
}
