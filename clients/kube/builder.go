package kube

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/compact"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Options configure a Builder.
type Options struct {
	// CountPods leaves out the names and the start times of pods on nodes and counts equal ones. For 5,000 nodes and 150,000
	// pods a cluster then has 1.4 MB in place of 7.3 MB, 1.2 MB of them start times. Explanations give numbers of conflicting
	// pods in place of names. Of pods with equal priority, preemption may evict others than kube-scheduler, and the pods
	// that a budget names as disrupted are not known: an option for callers that neither preempt nor queue nominated pods.
	CountPods bool
	// SchedulerName is the spec.schedulerName of the pods in the queue, that of kube-scheduler if empty, or AnyScheduler.
	SchedulerName string
	// Namespace and Labels leave the other pending pods out of the queue, and the workloads of other namespaces out of Scalables. A
	// pod group is left out only as a whole. Empty and nil leave nothing out.
	Namespace string
	Labels    labels.Selector
	// GivenOrder keeps the queue in the order in which the objects were added.
	GivenOrder bool
}

// Origin is the object of a queue entry.
type Origin struct {
	Kind, Namespace, Name string
}

func (o Origin) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Entry is a queue entry and its origin. Its pod refers to the snapshot's templates.
type Entry struct {
	Pods   *stowagev1.PendingPods
	Origin Origin
	// Workload is the object that Snapshot.WorkloadOf returns for the pods: the origin itself if that is a workload.
	Workload Origin
	// Gone is the pod's former node, which is not in the cluster.
	Gone string
	// SchedulerName, of an entry of Others, is the name of its scheduler.
	SchedulerName string
	// Message, of an entry of Waiting, is why kube-scheduler does not queue its pods, or why they do not convert.
	Message string
	// Misread is why the entry's object does not convert. Its pod then has no template.
	Misread *Misread

	object *corev1.Pod
	owners []Origin // as Snapshot.Owners
}

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
	// Existing are the workloads that were admitted by an API server and that no other object controls. Their pods are
	// those that were added.
	Existing []Origin
	// Incomplete are admitted workloads with missing pods: all of them, or some of those that their controllers counted.
	Incomplete []Incomplete
	// Suspended are workloads without pods until somebody resumes them.
	Suspended []Origin
	// OnDelete are workloads with a new template, which their pods get when they are deleted.
	OnDelete []Origin
	// Undecided are the changes of workloads that the snapshot does not contain.
	Undecided []Undecided
	// Leavers are the pods that changes take off their nodes, which the cluster no longer has.
	Leavers []Leaver
	// Rollouts are those of Undecided that are rollouts, with what decides them.
	Rollouts []Rollout
	// NodeTemplates are templates of nodes to add, with the pods of DaemonSets.
	NodeTemplates []*stowagev1.NodeTemplate
	// Misreads are the objects that do not convert.
	Misreads []*Misread
	// Live says that a node was read from a cluster, so that the pods are what the cluster has, too.
	Live bool
	// Unread is the unread fields of the queued pods and of the Scalables' pods, each object and field once.
	Unread []*stowagev1.UnreadField

	// Scalables are the workloads that can be scaled, existing ones included.
	Scalables []Scalable
	// Budgets are what the PodDisruptionBudgets ask for, in the order in which they were added.
	Budgets []Budget

	places     map[proto.Message]place
	nodes      []*corev1.Node // those of Cluster
	unselected []Origin
	residents  map[int][]resident // by node
	admission  *admission
	around     *surroundings
	owners     owners
	facts      map[*stowagev1.PendingPods]facts // of entries
	budgets    []StatedBudget
	// deployments are those that the API server has admitted.
	deployments map[Origin]*appsv1.Deployment
}

// Builder gathers objects into a snapshot. Nodes, and pods on a node, keep the order in which they are added, which decides
// ties; the order of different kinds does not matter.
//
// If an object does not convert, Add returns a *Misread, and the rest of the snapshot is not affected. Any other error
// means that the object cannot be in the snapshot.
type Builder struct {
	options     Options
	nodes       []*corev1.Node // for DaemonSets
	converted   []*stowagev1.Node
	nodeIndex   map[string]int
	namespaces  []*stowagev1.Namespace
	selectors   []*stowagev1.WorkloadSelector
	budgets     []*stowagev1.PodDisruptionBudget
	asked       []Budget // what they ask for
	stated      []StatedBudget
	running     []runningPod
	runningIn   map[string]int     // pods on nodes by group name
	residents   map[int][]resident // by node
	nominated   []nomination
	queue       []slot
	waiting     []Entry
	groups      map[string]addedGroup
	workloads   map[string]*schedulingv1beta1.Workload
	existing    []Origin
	suspended   []Origin
	onDelete    []Origin
	unread      map[string]string // the versions of PodGroups that are not read, by name
	withPods    withPods
	scalables   []Scalable
	unselected  []Origin       // workloads without a selector
	generated   map[string]int // pods without a name, by their substitute
	misreads    []*Misread
	admission   admission
	around      surroundings
	closed      map[string]bool // nodes that take no pods
	seen        map[string]bool // kind, namespace and name of unique objects
	at          string          // the name that From set
	places      map[proto.Message]place
	templates   []nodeTemplate
	daemonSets  []*appsv1.DaemonSet // all, for templates
	fresh       []*corev1.Node      // new nodes
	before      metav1.Object       // the object that is added next, before its change
	changes     []change
	undecided   []Undecided
	rollouts    []Rollout
	leavers     []Leaver
	replicaSets []*appsv1.ReplicaSet // of Deployments
	deployments map[Origin]*appsv1.Deployment
}

// slot is a position in the queue: pods, or a DaemonSet whose pods depend on the nodes.
type slot struct {
	origin    Origin
	at        string
	pods      *stowagev1.PendingPods
	daemonSet *appsv1.DaemonSet
	gone      string // the pod's former node, which is not in the cluster
	facts     facts
}

// NewBuilder returns an empty Builder.
func NewBuilder(o Options) *Builder {
	return &Builder{
		options: o, nodeIndex: map[string]int{}, seen: map[string]bool{}, places: map[proto.Message]place{},
		generated: map[string]int{}, residents: map[int][]resident{}, runningIn: map[string]int{},
		groups: map[string]addedGroup{}, deployments: map[Origin]*appsv1.Deployment{},
		workloads: map[string]*schedulingv1beta1.Workload{}, closed: map[string]bool{}, withPods: withPods{pods: map[string][]labels.Set{}, owned: map[types.UID]int{}, owners: map[types.UID][]metav1.OwnerReference{}},
		admission: admission{
			limitRanges: map[string][]*corev1.LimitRange{}, priorityClasses: map[string]*schedulingv1.PriorityClass{},
			runtimeClasses: map[string]*nodev1.RuntimeClass{},
		},
		around: surroundings{deviceClasses: map[string]string{}, groups: map[string][]*stowagev1.UnreadField{}},
	}
}

// AddNode adds a node.
func (b *Builder) AddNode(n *corev1.Node) error {
	if err := b.once("Node", "", n.Name); err != nil {
		return err
	}
	out, err := Node(n)
	if err != nil {
		out = Bare(out)
	}
	b.nodeIndex[n.Name] = len(b.nodes)
	b.nodes = append(b.nodes, n)
	b.converted = append(b.converted, out)
	b.places[out] = place{at: b.at}
	if _, path := allocatableOf(n); out.Allocatable != nil {
		b.places[out.Allocatable] = place{at: b.at, path: path.String()}
	}
	return b.misread(Origin{Kind: "Node", Name: n.Name}, false, err)
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

// AddPod adds a pod to its node, or to the queue if it has none. Like kube-scheduler, it leaves out pods that have ended,
// which occupy nothing, and does not queue pending pods that are being deleted. A pending pod with a nominated node is
// also a nominated pod of that node, if the cluster has it.
func (b *Builder) AddPod(p *corev1.Pod) error {
	b.withPods.pod(p)
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil
	}
	if p.Name != "" {
		if err := b.once("Pod", namespaceOf(p), p.Name); err != nil {
			return err
		}
	}
	if p.Spec.NodeName != "" {
		return b.addRunning(p)
	}
	origin := Origin{Kind: "Pod", Namespace: namespaceOf(p), Name: p.Name}
	var err error
	if p.DeletionTimestamp == nil {
		if p.Name == "" {
			origin.Name = b.generatedName(origin.Namespace, p.GenerateName)
		}
		err = b.misreadPods(origin, 1, b.enqueue(origin, specPath, stamp{pod: p, count: 1}))
	}
	if p.Name != "" && p.Status.NominatedNodeName != "" {
		n := nomination{at: b.at, object: origin, pod: p}
		errors.As(err, &n.misread)
		b.nominated = append(b.nominated, n)
	}
	return err
}

// The path of a pod's spec in a pod and in a workload.
var (
	specPath     = field.NewPath("spec")
	templateSpec = field.NewPath("spec", "template", "spec")
)

// enqueue appends pods to the queue, all or none; path is the path of their spec in the object.
func (b *Builder) enqueue(origin Origin, path *field.Path, stamps ...stamp) error {
	slots := make([]slot, 0, len(stamps))
	for _, s := range stamps {
		if s.count == 0 {
			continue
		}
		f := factsOf(origin, path, s)
		pod, err := (&admission{}).pendingPod(f)
		if err != nil {
			return err
		}
		pods := &stowagev1.PendingPods{Pod: pod, Count: new(s.count), PodGroup: f.group}
		slots = append(slots, slot{origin: origin, at: b.at, pods: pods, facts: f})
		b.places[pods] = place{at: b.at}
		b.places[pod] = place{at: b.at, path: strings.TrimSuffix(strings.TrimSuffix(path.String(), "spec"), ".")}
	}
	b.queue = append(b.queue, slots...)
	return nil
}

// generatedName is a substitute for the name of a pod that has none yet: "web-*", the next "web-*2".
func (b *Builder) generatedName(namespace, prefix string) string {
	name := prefix + "*"
	b.generated[namespace+"/"+name]++
	if n := b.generated[namespace+"/"+name]; n > 1 {
		name += strconv.Itoa(n)
	}
	return name
}

// exists reports whether the pods of a workload are objects of their own already, and records the workload with its replicas
// and the selector of its pods.
func (b *Builder) exists(kind string, o metav1.Object, replicas *int32, selector *metav1.LabelSelector) bool {
	if !admitted(o) {
		return false
	}
	origin := Origin{Kind: kind, Namespace: namespaceOf(o), Name: o.GetName()}
	b.withPods.workload(origin, b.changed(origin, o), replicas, selector)
	if metav1.GetControllerOfNoCopy(o) == nil {
		b.existing = append(b.existing, origin)
	}
	return true
}

// Build returns the snapshot. The Builder must not be used afterwards. Properties that nodes share become node classes.
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
	out := &Snapshot{Cluster: &stowagev1.Cluster{
		Namespaces: b.namespaces, WorkloadSelectors: b.selectors, PodDisruptionBudgets: b.budgets,
	}}
	if err := b.bringDaemons(); err != nil {
		return nil, err
	}
	b.takeAway()
	out.HomelessPods = b.settle()
	b.unreadOnNodes()
	b.nominate()
	b.close()
	for _, n := range b.converted {
		for _, p := range n.Pods {
			if err := share(p); err != nil {
				return nil, err
			}
		}
		for _, p := range n.NominatedPods {
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
	out.deployments = b.deployments
	b.expandQueue()
	b.dropPresent()
	b.makeChanges()
	out.facts = b.enqueued()
	b.admitPending()
	out.Others = b.leaveToOthers()
	out.LeftOut = b.leaveOut()
	if !b.options.GivenOrder {
		b.sortQueue()
	}
	out.Cluster.PodGroups = b.grouped()
	out.Scalables = b.scaled()
	out.Unread = b.tell(out.Scalables)
	for _, s := range b.queue {
		if err := share(s.pods.Pod); err != nil {
			return nil, err
		}
		out.Queue = append(out.Queue, b.entry(s, ""))
	}
	out.nodes = b.nodes
	if out.NodeTemplates, err = b.nodeTemplates(share); err != nil {
		return nil, err
	}
	out.Cluster.PodTemplates = templates.List()
	out.Waiting, out.Misreads = b.waiting, b.misreads
	out.Existing, out.Undecided, out.Rollouts = b.existing, b.undecided, b.rollouts
	out.Suspended, out.OnDelete, out.Leavers = b.suspended, b.onDelete, b.leavers
	out.Incomplete = b.withPods.incomplete(b.nodes)
	out.Live = slices.ContainsFunc(b.nodes, func(n *corev1.Node) bool { return admitted(n) })
	out.unselected, out.owners, out.Budgets, out.budgets = b.unselected, b.withPods.owners, b.asked, b.stated
	out.places, out.residents, out.admission, out.around = b.places, b.residents, &b.admission, &b.around
	return out, nil
}

// expandQueue replaces each DaemonSet in the queue by its pods.
func (b *Builder) expandQueue() {
	slots := b.queue
	b.queue = nil
	for _, s := range slots {
		if s.daemonSet == nil {
			b.queue = append(b.queue, s)
			continue
		}
		b.at = s.at
		stamps, err := daemonPods(s.daemonSet, b.nodes)
		if err == nil {
			err = b.enqueue(s.origin, templateSpec, stamps...)
		}
		_ = b.misreadPods(s.origin, uint32(len(stamps)), err)
	}
}

// admitPending converts pending pods without a uid again if admission plugins concern them, once everything is added. Pods
// that the API server would reject leave the queue.
func (b *Builder) admitPending() {
	b.queue = slices.DeleteFunc(b.queue, func(s slot) bool {
		err := b.admitAgain(s.pods.Pod, s.facts)
		if err != nil {
			b.waiting = append(b.waiting, b.entry(s, err.Error()))
		}
		return err != nil
	})
	for i := range b.scalables {
		s := &b.scalables[i]
		_ = b.admitAgain(s.Pod, s.facts) // the pods of the workload exist
	}
}

// admitAgain converts a pending pod again, in place. After an error the pod is as it was.
func (b *Builder) admitAgain(converted *stowagev1.Pod, f facts) error {
	if p := f.stamp.pod; admitted(p) || !b.admission.concerns(p) {
		return nil
	}
	again, err := b.admission.pendingPod(f)
	if err != nil {
		return err
	}
	replace(converted, again)
	return nil
}

// replace replaces the content of a message.
func replace[M proto.Message](out, by M) {
	proto.Reset(out)
	proto.Merge(out, by)
}

// placeClasses records the origins of the cluster's nodes and classes; a class has that of its first node.
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
