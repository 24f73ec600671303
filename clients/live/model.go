package live

import (
	"cmp"
	"log/slog"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// model is the cluster in messages of the contract, and its changes since the base.
type model struct {
	progress
	objects
	log       *slog.Logger
	nodes     map[string]*node
	dirty     map[string]*was // nodes that differ from the base, or may
	pods      map[types.UID]*pod
	nominated map[types.UID]*pod      // the pending pods with a nominated node, assumed ones among them
	owners    map[objectKey]types.UID // the pods that may control claims
	held      map[types.UID]held      // nominations of the caller that no event has shown
	templates templates
	// environment reads pods, without their volumes and devices if these objects are not read.
	environment *convert.Environment
	storage     storage
	refused     refused
	devices     devices
	closed      map[string]*node // nodes that are closed
	podGroups   map[objectKey]*schedulingv1beta1.PodGroup
	// startTimes is Options.StartTimes.
	startTimes bool
	// bindingTimeout is Options.BindingTimeout.
	bindingTimeout time.Duration
}

// progress is what has changed in a model.
type progress struct {
	version      uint64
	changed      bool   // since version
	deciding     bool   // the current change is a decision of the caller, not an event
	aside        bool   // fields that only preemption reads have changed since the view
	quiet        bool   // the current change is limited to those fields
	eventVersion uint64 // the last version that an event caused
}

// node is a node and its pods. Pods may arrive before their node, and outlast it.
type node struct {
	message *stowagev1.Node // without pods and class; nil if the node does not exist or is left out
	whole   *stowagev1.Node // the converted object, nil if there is none
	counts  map[counted]uint32
	named   map[types.UID]*stowagev1.Pod
	// nominated are the pods nominated to it that are not assumed anywhere.
	nominated    map[types.UID]*stowagev1.Pod
	eventVersion uint64 // the last version that an event on it caused
	// unclear are its pods with unknown resources or ports, including nominated pods. They close the node.
	unclear map[types.UID]bool
}

// was is a node in the base.
type was struct {
	message   *stowagev1.Node // nil if the base did not have the node
	counts    map[counted]uint32
	named     map[types.UID]*stowagev1.Pod
	nominated map[types.UID]*stowagev1.Pod
}

// counted is the key by which equal pods are counted.
type counted struct {
	template    uint32
	terminating bool
	readiness   stowagev1.PodReadiness
}

// pod is a pod on a node, or nominated to it.
type pod struct {
	namespace, name string
	node            string
	counted         counted
	// unclear: it may use more of its node than its message requests.
	unclear bool
	// named is the pod's own message if it has fields of its own or is nominated, or with Options.StartTimes; nil otherwise.
	// It refers to the template of counted.
	named *stowagev1.Pod
	// assumed: no event has shown the pod on its node.
	assumed bool
	// until is when an assumption is overdue, zero if it is held.
	until time.Time
}

type selectorKey struct {
	kind            stowagev1.WorkloadKind
	namespace, name string
}

func (k selectorKey) compare(o selectorKey) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.namespace, o.namespace), cmp.Compare(k.name, o.name))
}

func newModel(log *slog.Logger) *model {
	return &model{
		log: log, nodes: map[string]*node{}, dirty: map[string]*was{}, pods: map[types.UID]*pod{},
		nominated: map[types.UID]*pod{}, held: map[types.UID]held{}, owners: map[objectKey]types.UID{},
		templates: newTemplates(), refused: newRefused(), closed: map[string]*node{},
		podGroups:   map[objectKey]*schedulingv1beta1.PodGroup{},
		environment: new(convert.NewEnvironment(nil, nil)),
		objects:     newObjects(), storage: newStorage(), devices: newDevices(),
	}
}

func (m *model) size() (nodes, pods int) {
	for _, n := range m.nodes {
		if n.message != nil {
			nodes++
		}
	}
	return nodes, len(m.pods)
}

// node returns a node for changes, and adds it if needed.
func (m *model) node(name string) *node {
	n := m.nodes[name]
	if n == nil {
		n = &node{
			counts: map[counted]uint32{}, named: map[types.UID]*stowagev1.Pod{}, nominated: map[types.UID]*stowagev1.Pod{},
			unclear: map[types.UID]bool{},
		}
		m.nodes[name] = n
	}
	if m.dirty[name] == nil {
		m.dirty[name] = &was{
			message: n.now(), counts: maps.Clone(n.counts), named: maps.Clone(n.named), nominated: maps.Clone(n.nominated),
		}
	}
	if !m.deciding && !m.quiet {
		n.eventVersion = m.version + 1
	}
	return n
}

// setNode sets the message of a node, nil for a node that is gone.
func (m *model) setNode(name string, message, whole *stowagev1.Node) {
	old := m.nodes[name]
	if old == nil && message == nil {
		return
	}
	if old != nil {
		old.whole = whole
		if same(old.message, message) {
			m.drop(name)
			return
		}
	}
	n := m.node(name)
	n.message, n.whole = message, whole
	m.changed = true
	m.drop(name)
}

// drop removes a node without a message and without pods.
func (m *model) drop(name string) {
	if n := m.nodes[name]; n != nil && n.whole == nil && n.message == nil && len(n.counts)+len(n.named)+len(n.nominated)+len(n.unclear) == 0 {
		delete(m.nodes, name)
	}
}

// same compares two messages; both may be nil.
func same[M interface {
	comparable
	proto.Message
}](a, b M) bool {
	var none M
	if a == none || b == none {
		return a == b
	}
	return proto.Equal(a, b)
}

// put counts a pod on its node.
func (m *model) put(uid types.UID, p *pod) {
	m.hide(uid)
	n := m.node(p.node)
	if p.named != nil {
		n.named[uid] = p.named
	} else {
		n.counts[p.counted]++
	}
	if p.unclear {
		n.unclear[uid] = true
		m.closed[p.node] = n
	}
	m.templates.use(p.counted.template, 1)
	m.pods[uid] = p
	m.changed = m.changed || n.message != nil
}

// remove stops counting a pod on its node.
func (m *model) remove(uid types.UID) {
	p := m.pods[uid]
	if p == nil {
		return
	}
	n := m.node(p.node)
	if p.named != nil {
		delete(n.named, uid)
	} else if n.counts[p.counted]--; n.counts[p.counted] == 0 {
		delete(n.counts, p.counted)
	}
	if delete(n.unclear, uid); len(n.unclear) == 0 {
		delete(m.closed, p.node)
	}
	m.templates.use(p.counted.template, -1)
	delete(m.pods, uid)
	m.changed = m.changed || n.message != nil
	m.drop(p.node)
	m.show(uid)
}

// full returns the message of a node with all of its pods.
func (n *node) full() *stowagev1.Node {
	out := compact.Shallow(n.now())
	for _, key := range sortedCounts(n.counts) {
		out.PodCounts = append(out.PodCounts, podCount(key, n.counts[key]))
	}
	out.Pods, out.NominatedPods = sortedPods(n.named), sortedPods(n.nominated)
	return out
}

func sortedPods(pods map[types.UID]*stowagev1.Pod) (out []*stowagev1.Pod) {
	for _, uid := range slices.Sorted(maps.Keys(pods)) {
		out = append(out, pods[uid])
	}
	return out
}

func podCount(key counted, count uint32) *stowagev1.PodCount {
	return &stowagev1.PodCount{TemplateIndex: key.template, Count: count, Terminating: key.terminating, Readiness: key.readiness}
}

func sortedCounts(counts map[counted]uint32) []counted {
	return slices.SortedFunc(maps.Keys(counts), func(a, b counted) int {
		if a.template != b.template {
			return cmp.Compare(a.template, b.template)
		}
		switch {
		case a.terminating == b.terminating:
			return cmp.Compare(a.readiness, b.readiness)
		case b.terminating:
			return -1
		}
		return 1
	})
}
