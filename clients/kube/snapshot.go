package kube

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/change"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Snapshot is a cluster and the pods to place.
type Snapshot struct {
	Cluster *stowagev1.Cluster
	// Queue is in kube-scheduler's order: by descending priority, then by creation, then in the order in which the objects
	// were added.
	Queue []Entry
	// Others are the pending pods of other schedulers.
	Others []Entry
	// LeftOut is the number of pending pods that Options.Namespace and Options.Labels leave out.
	LeftOut uint64
	// Waiting are pending pods that are not in the queue: kube-scheduler does not queue them, or they do not convert.
	Waiting []Entry
	// PodGroups are groups of the queue that the cluster does not have.
	PodGroups []*stowagev1.PodGroup
	// HomelessPods are the pods on nodes that are not in the cluster. Neither kube-scheduler nor Cluster counts them.
	HomelessPods []HomelessPod
	// NodeTemplates are templates of nodes to add, with the pods of DaemonSets.
	NodeTemplates []*stowagev1.NodeTemplate
	// Misreads are the objects that do not convert.
	Misreads []*Misread
	// Live says that a node was read from a cluster, so that the pods are the cluster's, too.
	Live bool
	// Unread is the unread fields of the queued pods and of the Scalables' pods, each object and field once.
	Unread []*stowagev1.UnreadField

	// Scalables are the workloads that can be scaled, existing ones included.
	Scalables []Scalable
	// Budgets are in the order in which they were added.
	Budgets []Budget
	Workloads
	change.Effects
	Assumptions

	places      convert.Places
	environment convert.Environment
	added       added
}

// Assumptions are storage objects that pods need and that were not added, whose volumes are assumed to be provisioned for any node, and
// what Options.DetachVolumes assumes.
type Assumptions struct {
	// AssumedClasses are the names of StorageClasses, convert.AssumedDefault for the default class.
	AssumedClasses []string
	// AssumedClaims are the names of PersistentVolumeClaims, with their namespaces.
	AssumedClaims []string
	// Detaching is the number of attached volumes that are assumed to be detached with the last pods that use them.
	Detaching int
	// UnlimitedTemplates are the names of node templates to which any number of volumes can be attached, because no node of the cluster
	// with a CSINode is like them.
	UnlimitedTemplates []string
	// BareTemplates are the names of node templates whose nodes have no devices, because no node of the cluster with devices is like them.
	// They are listed if pods of the queue claim devices.
	BareTemplates []string
}

// Workloads are the workloads that need attention.
type Workloads struct {
	// Existing are the workloads that were admitted by an API server and that no other object controls. Their pods are
	// the pods that were added.
	Existing []Origin
	// Incomplete are admitted workloads with missing pods: all of them, or some of the pods that their controllers counted.
	Incomplete []Incomplete
	// Suspended are workloads without pods until somebody resumes them.
	Suspended []Origin
}

// added is the objects that the parts of a snapshot come from.
type added struct {
	nodes     []*corev1.Node     // by index in Cluster
	residents map[int][]resident // by node
	sources   map[*stowagev1.PendingPods]convert.Source
	owners    object.Owners
	// deployments are the Deployments that the API server has admitted.
	deployments map[Origin]*appsv1.Deployment
	unselected  []Origin // workloads without a selector
}

// resident is a pod on a node of the cluster.
type resident struct {
	source convert.Source
	stays  bool // not placed again once its node is gone
}

// Locate translates a field path of a server's error about a request with this snapshot into an object and the path in that
// object. For a template or a node class, the object is the first that uses it. A field that comes from no object is not
// ok.
func (s *Snapshot) Locate(request proto.Message, path string) (at, field string, ok bool) {
	here, ok := s.places.Locate(request, convert.Place{}, path)
	return here.At, here.Path, ok
}

// PriorityClasses returns the PriorityClasses that were added, by name. They must not be changed.
func (s *Snapshot) PriorityClasses() []*schedulingv1.PriorityClass {
	return s.environment.PriorityClasses()
}

// NodeObjects returns the nodes of the cluster that were added. They must not be changed.
func (s *Snapshot) NodeObjects() []*corev1.Node { return s.added.nodes }

// WorkloadOf returns the workload that creates a pod again: its controller, or the controller of the controller, as far as they are
// known, such as the Deployment of a ReplicaSet. It is the pod itself if the pod has no controller.
func (s *Snapshot) WorkloadOf(p *corev1.Pod) Origin { return s.added.owners.Workload(p) }

// Owners returns a pod, its controller, the controller of the controller, and so on up to the workload that WorkloadOf returns.
func (s *Snapshot) Owners(p *corev1.Pod) []Origin { return s.added.owners.Chain(p) }

// ErrCounted is the error of a Snapshot that was built with Options.CountPods, where the pods are needed.
var ErrCounted = errors.New("the snapshot was built with CountPods: its pods have no names")

// PodsOn iterates over the pods of a node of the cluster, by its index, with the objects that were added.
func (s *Snapshot) PodsOn(node int) (iter.Seq2[*corev1.Pod, *stowagev1.Pod], error) {
	pods, residents := s.Cluster.Nodes[node].Pods, s.added.residents[node]
	if len(pods) != len(residents) || len(s.Cluster.Nodes[node].PodCounts) > 0 {
		return nil, ErrCounted
	}
	return func(yield func(*corev1.Pod, *stowagev1.Pod) bool) {
		for i, r := range residents {
			if !yield(r.source.Pod, pods[i]) {
				return
			}
		}
	}, nil
}

// PendingPod converts a further pending pod, with a template of its own, as Build converts the pods of the queue. It may be called
// concurrently.
func (s *Snapshot) PendingPod(p *corev1.Pod) (*stowagev1.Pod, error) {
	of := convert.Source{Object: object.OfPod(p), Path: convert.SpecPath, Pod: p, Named: p.Name != "", Pending: true}
	out, err := s.environment.PendingPod(of)
	if err != nil {
		return nil, err
	}
	s.environment.AddClaims(out, of)
	s.environment.Complete(out, of)
	for _, v := range out.GetTemplate().GetSpec().GetVolumes() {
		if e := v.GetEphemeral(); e != nil && object.Admitted(p) {
			e.ClaimTemplate = nil // the pod waits for its claim, also if it names a node
		}
	}
	return out, nil
}

// RunningPod converts a further pod on a node, with a template of its own, as Build does. It may be
// called concurrently.
func (s *Snapshot) RunningPod(p *corev1.Pod) convert.Occupant { return s.environment.RunningPod(p) }

// OnNode is a pod on a node of the cluster.
type OnNode struct {
	Pod *corev1.Pod
	// Object and Workload are the pod and the workload that creates it again, as WorkloadOf.
	Object, Workload Origin
	// Node is the index of its node.
	Node int
}

func (s *Snapshot) onNode(r resident, node int) OnNode {
	return OnNode{r.source.Pod, r.source.Object, s.WorkloadOf(r.source.Pod), node}
}

// OnNodes iterates over the pods on nodes, in the order of nodes and then as they were added.
func (s *Snapshot) OnNodes() iter.Seq[OnNode] {
	return func(yield func(OnNode) bool) {
		for i := range s.Cluster.Nodes {
			for _, r := range s.added.residents[i] {
				if !yield(s.onNode(r, i)) {
					return
				}
			}
		}
	}
}

// Without returns the cluster without a pod on a node. It shares the other nodes.
func (s *Snapshot) Without(p OnNode) *stowagev1.Cluster {
	out, n := compact.Shallow(s.Cluster), compact.Shallow(s.Cluster.Nodes[p.Node])
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
