package kube

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options says how a Builder states what it is given.
type Options struct {
	// CountPods leaves out the names of pods on nodes and counts equal ones, which makes a snapshot much smaller.
	// Explanations then tell how many pods are in the way, and not which.
	CountPods bool
}

// Origin is the object that a queue entry comes from.
type Origin struct {
	Kind, Namespace, Name string
}

// Entry is a queue entry and where it comes from. Its pod refers to the snapshot's templates.
type Entry struct {
	Pods   *stowagev1.PendingPods
	Origin Origin
}

// Snapshot is a cluster and the pods to be placed on it.
type Snapshot struct {
	Cluster *stowagev1.Cluster
	// Queue is in the order in which the objects were added.
	Queue []Entry
	// PodGroups are the groups that entries of the queue name.
	PodGroups []*stowagev1.PodGroup
	// HomelessPods are the pods on nodes that are not in the cluster, as "namespace/name". kube-scheduler does not
	// count such pods, and neither does Cluster.
	HomelessPods []string
	// Existing are the workloads that an API server has made, but for those that another controls. Their pods are those
	// that were added.
	Existing []Origin
	// Unread is what kube-scheduler would have read of the pods in the queue and the contract does not state, in
	// sentences, one for each object and thing.
	Unread []string

	// Scalables are the workloads that can be scaled, existing ones included.
	Scalables []Scalable

	places map[proto.Message]place
}

// Builder gathers objects into a snapshot. Nodes, and pods on a node, stay in the order in which they are added, on
// which ties depend; the order of different kinds does not matter.
type Builder struct {
	options    Options
	nodes      []*corev1.Node // for DaemonSets
	converted  []*stowagev1.Node
	nodeIndex  map[string]int
	namespaces []*stowagev1.Namespace
	selectors  []*stowagev1.WorkloadSelector
	running    []runningPod
	runningIn  map[string]int // running pods by the name of their group
	queue      []slot
	groups     map[string]addedGroup
	workloads  map[string]*schedulingv1beta1.Workload
	existing   []Origin
	scalables  []Scalable
	generated  map[string]int // pods without a name, by what stands for it
	unread     []string
	seen       map[string]bool // kind, namespace and name of what must be unique
	at         string          // what From named
	places     map[proto.Message]place
}

type runningPod struct {
	node string
	pod  *stowagev1.Pod
}

// slot is a place in the queue: pods, or a DaemonSet whose pods depend on the nodes.
type slot struct {
	origin    Origin
	at        string
	group     *field.Path // where its pods name their group
	pods      *stowagev1.PendingPods
	daemonSet *appsv1.DaemonSet
}

// NewBuilder makes an empty Builder.
func NewBuilder(o Options) *Builder {
	return &Builder{
		options: o, nodeIndex: map[string]int{}, seen: map[string]bool{}, places: map[proto.Message]place{},
		generated: map[string]int{}, runningIn: map[string]int{}, groups: map[string]addedGroup{},
		workloads: map[string]*schedulingv1beta1.Workload{},
	}
}

// AddNode adds a node.
func (b *Builder) AddNode(n *corev1.Node) error {
	if err := b.once("Node", "", n.Name); err != nil {
		return err
	}
	out, err := Node(n)
	if err != nil {
		return err
	}
	b.nodeIndex[n.Name] = len(b.nodes)
	b.nodes = append(b.nodes, n)
	b.converted = append(b.converted, out)
	b.places[out] = place{at: b.at}
	if _, path := allocatableOf(n); out.Allocatable != nil {
		b.places[out.Allocatable] = place{at: b.at, path: path.String()}
	}
	return nil
}

// AddNamespace adds a namespace.
func (b *Builder) AddNamespace(n *corev1.Namespace) error {
	if err := b.once("Namespace", "", n.Name); err != nil {
		return err
	}
	out := Namespace(n)
	b.namespaces = append(b.namespaces, out)
	b.places[out] = place{at: b.at}
	return nil
}

// AddService adds a Service's selector.
func (b *Builder) AddService(s *corev1.Service) error {
	if err := b.once("Service", namespaceOf(s), s.Name); err != nil {
		return err
	}
	b.selector(ServiceSelector(s))
	return nil
}

// AddPod adds a pod: to its node if it has one, to the queue otherwise. A pod that has ended occupies nothing, and a
// pending pod that is being deleted is not placed any more, so these are left out, as in kube-scheduler.
func (b *Builder) AddPod(p *corev1.Pod) error {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil
	}
	if p.Name != "" {
		if err := b.once("Pod", namespaceOf(p), p.Name); err != nil {
			return err
		}
	}
	if p.Spec.NodeName == "" {
		if p.DeletionTimestamp != nil {
			return nil
		}
		origin := Origin{Kind: "Pod", Namespace: namespaceOf(p), Name: p.Name}
		if p.Name == "" {
			origin.Name = b.generatedName(origin.Namespace, p.GenerateName)
		}
		return b.enqueue(origin, field.NewPath("spec"), stamp{p, 1})
	}
	out, err := RunningPod(p)
	if err != nil {
		return err
	}
	b.running = append(b.running, runningPod{p.Spec.NodeName, out})
	if name := PodGroupName(p); name != "" {
		b.runningIn[name]++
	}
	b.places[out] = place{at: b.at}
	return nil
}

// templateSpec is where a workload's pod spec stands in it.
var templateSpec = field.NewPath("spec", "template", "spec")

// enqueue appends pods to the queue, all or, if one does not convert, none; path is where their spec stands in the
// object.
func (b *Builder) enqueue(origin Origin, path *field.Path, stamps ...stamp) error {
	slots := make([]slot, 0, len(stamps))
	for _, s := range stamps {
		if s.count == 0 {
			continue
		}
		pod, err := pendingPod(s.pod, path)
		if err != nil {
			return err
		}
		pods := &stowagev1.PendingPods{Pod: pod, Count: s.count, PodGroup: PodGroupName(s.pod)}
		slots = append(slots, slot{origin: origin, at: b.at, group: path.Child("schedulingGroup", "podGroupName"), pods: pods})
		b.places[pods] = place{at: b.at}
		b.places[pod] = place{at: b.at, path: strings.TrimSuffix(strings.TrimSuffix(path.String(), "spec"), ".")}
	}
	b.queue = append(b.queue, slots...)
	if len(slots) > 0 {
		b.unread = append(b.unread, unread(origin, &stamps[0].pod.Spec)...)
	}
	return nil
}

// generatedName stands for the name of a pod that has none yet: "web-*", the next "web-*2".
func (b *Builder) generatedName(namespace, prefix string) string {
	name := prefix + "*"
	b.generated[namespace+"/"+name]++
	if n := b.generated[namespace+"/"+name]; n > 1 {
		name += strconv.Itoa(n)
	}
	return name
}

// exists tells whether the pods of a workload are objects of their own already, and keeps that.
func (b *Builder) exists(kind string, o metav1.Object) bool {
	if !admitted(o) {
		return false
	}
	if metav1.GetControllerOfNoCopy(o) == nil {
		b.existing = append(b.existing, Origin{Kind: kind, Namespace: namespaceOf(o), Name: o.GetName()})
	}
	return true
}

func (b *Builder) once(kind, namespace, name string) error {
	key := kind + " " + namespace + "/" + name
	if b.seen[key] {
		return fmt.Errorf("metadata.name: Duplicate value: %s %q is there already", kind, name)
	}
	b.seen[key] = true
	return nil
}

// Build makes the snapshot, once: the Builder must not be used afterwards. What nodes share is stated through classes.
func (b *Builder) Build() (*Snapshot, error) {
	templates, err := compact.NewTemplates(nil)
	if err != nil {
		return nil, err
	}
	share := func(p *stowagev1.Pod) error {
		before := len(templates.List())
		if err := templates.Share(p); err != nil {
			return err
		}
		for _, fresh := range templates.List()[before:] {
			b.places[fresh] = b.places[p]
		}
		return nil
	}
	out := &Snapshot{Cluster: &stowagev1.Cluster{Namespaces: b.namespaces, WorkloadSelectors: b.selectors}}
	for _, r := range b.running {
		i, ok := b.nodeIndex[r.node]
		if !ok {
			out.HomelessPods = append(out.HomelessPods, r.pod.GetTemplate().Namespace+"/"+r.pod.Name)
			continue
		}
		n := b.converted[i]
		n.Pods = append(n.Pods, r.pod)
	}
	for _, n := range b.converted {
		for _, p := range n.Pods {
			if err := share(p); err != nil {
				return nil, err
			}
		}
		if b.options.CountPods {
			compact.CountPods(n)
		}
	}
	out.Cluster.Nodes, out.Cluster.NodeClasses = compact.Nodes(b.converted)
	b.placeClasses(out.Cluster)
	queue, err := b.expandedQueue()
	if err != nil {
		return nil, err
	}
	if out.PodGroups, queue, err = b.grouped(queue); err != nil {
		return nil, err
	}
	for _, s := range queue {
		if err := share(s.pods.Pod); err != nil {
			return nil, err
		}
		out.Queue = append(out.Queue, Entry{Pods: s.pods, Origin: s.origin})
	}
	out.Cluster.PodTemplates = templates.List()
	out.Existing, out.Scalables, out.Unread = b.existing, b.scalables, b.unread
	out.places = b.places
	return out, nil
}

// expandedQueue is the queue with the pods of DaemonSets in their place.
func (b *Builder) expandedQueue() ([]slot, error) {
	slots := b.queue
	b.queue = nil
	for _, s := range slots {
		if s.daemonSet == nil {
			b.queue = append(b.queue, s)
			continue
		}
		b.at = s.at
		stamps, err := daemonPods(s.daemonSet, b.nodes)
		if err != nil {
			return nil, err
		}
		if err := b.enqueue(s.origin, templateSpec, stamps...); err != nil {
			return nil, err
		}
	}
	return b.queue, nil
}

// placeClasses tells where the nodes of the cluster come from, and their classes: each from the first of its nodes.
func (b *Builder) placeClasses(c *stowagev1.Cluster) {
	same := func(m, from proto.Message) {
		if _, known := b.places[m]; !known {
			b.places[m] = b.places[from]
		}
	}
	for i, n := range c.Nodes {
		from := b.converted[i]
		same(n, from)
		if n.Allocatable != nil {
			same(n.Allocatable, from.Allocatable)
		}
		if n.ClassIndex == nil {
			continue
		}
		class := c.NodeClasses[n.GetClassIndex()]
		same(class, from)
		if class.Allocatable != nil {
			same(class.Allocatable, from.Allocatable)
		}
	}
}
