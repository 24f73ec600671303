package kube

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	"github.com/stowage-scheduler/stowage/clients/kube/object"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// register knows the objects that were added by name: where their messages come from, and which do not convert.
type register struct {
	at        string        // the name that From set
	before    metav1.Object // the object that is added next, before its change
	seen      map[Origin]bool
	generated map[Origin]int // pods without a name, by their substitute
	places    convert.Places
	misreads  []*Misread
}

func newRegister() register {
	return register{seen: map[Origin]bool{}, generated: map[Origin]int{}, places: convert.Places{}}
}

// duplicate is the error of an object that was added before.
type duplicate struct{ error }

// once records an object, and refuses it if it was added before.
func (r *register) once(o Origin) error {
	if r.seen[o] {
		return duplicate{fmt.Errorf("metadata.name: Duplicate value: %s %q is there already", o.Kind, o.Name)}
	}
	r.seen[o] = true
	return nil
}

// generatedName is a substitute for the name of an object that has none yet: "web-*", the next "web-*2".
func (r *register) generatedName(namespace, prefix string) string {
	name := prefix + "*"
	key := Origin{Namespace: namespace, Name: name}
	r.generated[key]++
	if n := r.generated[key]; n > 1 {
		name += strconv.Itoa(n)
	}
	return name
}

// place records that a message comes from the object that is added, from a path in it.
func (r *register) place(m proto.Message, path string) {
	r.places[m] = convert.Place{At: r.at, Path: path}
}

// misread records that an object does not convert. It passes on errors of other kinds. ownPods is Misread.OwnPods.
func (r *register) misread(o Origin, ownPods bool, err error) error {
	if err == nil || errors.As(err, &duplicate{}) || noRoom(err) {
		return err
	}
	return r.note(r.at, o, ownPods, err)
}

// note records that an object does not convert that was added before.
func (r *register) note(at string, o Origin, ownPods bool, err error) *Misread {
	m := &Misread{At: cmp.Or(at, o.String()), Err: err, OwnPods: ownPods}
	r.misreads = append(r.misreads, m)
	return m
}

// Misread is an object that does not convert, or that the server rejects: see Refuse. It does not affect other objects; what
// it occupies counts, and a node with a pod whose requests cannot be read rejects pods.
type Misread struct {
	// At is the object, as Builder.From named it.
	At string
	// Err names its fields.
	Err error
	// OwnPods says that decisions about pods of other objects do not read the fields that do not convert. Otherwise the
	// snapshot is incomplete for them.
	OwnPods bool
}

func (m *Misread) Error() string { return m.At + ": " + m.Err.Error() }

// Unwrap returns the error of the object.
func (m *Misread) Unwrap() error { return m.Err }

// misreadPods records that an object with a number of pending pods does not convert. The pods wait.
func (b *Builder) misreadPods(o Origin, pods uint32, err error) error {
	err = b.objects.misread(o, true, err)
	if m := (*Misread)(nil); pods > 0 && errors.As(err, &m) {
		b.queue.waiting = append(b.queue.waiting, waits(o, pods, m.Err, m))
	}
	return err
}

// waits returns the entry of pods that do not convert.
func waits(o Origin, pods uint32, err error, m *Misread) Entry {
	return Entry{
		Pods:   &stowagev1.PendingPods{Pod: &stowagev1.Pod{Name: o.Name}, Count: new(pods)},
		Origin: o, Workload: o, Message: "not understood: " + err.Error(), Misread: m,
	}
}

// toCome is the number of pods that a workload that does not convert would create, by its replicas.
func toCome(o metav1.Object, replicas *int32) uint32 {
	switch {
	case object.Admitted(o):
		return 0
	case replicas == nil || *replicas < 0:
		return 1
	}
	return uint32(*replicas)
}

// AddNamespace adds a namespace.
func (b *Builder) AddNamespace(n *corev1.Namespace) error {
	return b.affect(Origin{Kind: "Namespace", Name: n.Name}, func() {
		out := convert.Namespace(n)
		b.cluster.Namespaces = append(b.cluster.Namespaces, out)
		b.objects.place(out, "")
	})
}

// AddService adds a Service's selector.
func (b *Builder) AddService(s *corev1.Service) error {
	return b.affect(object.Of("Service", s), func() { b.selector(convert.ServiceSelector(s)) })
}

func (b *Builder) selector(w *stowagev1.WorkloadSelector) {
	b.cluster.WorkloadSelectors = append(b.cluster.WorkloadSelectors, w)
	b.objects.places.PutSelector(w, b.objects.at)
}

// AddPodDisruptionBudget adds a PodDisruptionBudget. It counts by its status, as in kube-scheduler: one without a status
// allows no disruptions, as one that the disruption controller has not seen yet.
func (b *Builder) AddPodDisruptionBudget(p *policyv1.PodDisruptionBudget) error {
	return b.affect(object.Of("PodDisruptionBudget", p), func() {
		out := convert.PodDisruptionBudget(p)
		b.cluster.PodDisruptionBudgets, b.budgets = append(b.cluster.PodDisruptionBudgets, out), append(b.budgets, budgetOf(p, b.objects.at))
		b.objects.place(out, "")
	})
}

// AddLimitRange adds a LimitRange. It sets requests of containers without a uid in its namespace, and rejects pods beyond
// its bounds.
func (b *Builder) AddLimitRange(l *corev1.LimitRange) error {
	return b.affect(object.Of("LimitRange", l), func() { b.environment.AddLimitRange(l) })
}

// AddPriorityClass adds a PriorityClass. It sets the priority of pods without a uid that name it.
func (b *Builder) AddPriorityClass(c *schedulingv1.PriorityClass) error {
	return b.affect(Origin{Kind: "PriorityClass", Name: c.Name}, func() { b.environment.AddPriorityClass(c) })
}

// AddRuntimeClass adds a RuntimeClass. It sets the overhead of pods without a uid that name it, and adds to their node
// selector and tolerations.
func (b *Builder) AddRuntimeClass(c *nodev1.RuntimeClass) error {
	return b.affect(Origin{Kind: "RuntimeClass", Name: c.Name}, func() { b.environment.AddRuntimeClass(c) })
}

// affect adds an object that affects other objects alone.
func (b *Builder) affect(o Origin, add func()) error {
	err := b.objects.once(o)
	if err == nil {
		add()
	}
	return err
}

// Budget is a PodDisruptionBudget that was added. It must not be changed.
type Budget struct {
	Origin
	// At is the object as Builder.From named it.
	At string
	// Selector selects its pods in its namespace, none if it does not parse.
	Selector labels.Selector
	// Desired is the number of pods that are to be healthy, in its status or as a minAvailable that is a number; nil if it is in
	// neither.
	Desired *int32
	Spec    *policyv1.PodDisruptionBudgetSpec
	Status  *policyv1.PodDisruptionBudgetStatus
}

// budgetOf returns the budget of an object. The disruption controller computes a percentage of the replicas of its workloads
// (pkg/controller/disruption/disruption.go getExpectedPodCount, v1.37), and reports the result in the status.
func budgetOf(p *policyv1.PodDisruptionBudget, at string) Budget {
	out := Budget{Origin: object.Of("PodDisruptionBudget", p), At: at, Selector: labels.Nothing(), Spec: &p.Spec, Status: &p.Status}
	if selector, err := metav1.LabelSelectorAsSelector(p.Spec.Selector); err == nil {
		out.Selector = selector
	}
	switch least := p.Spec.MinAvailable; {
	case p.Status.ObservedGeneration > 0 || p.Status.ExpectedPods > 0:
		out.Desired = new(p.Status.DesiredHealthy)
	case least != nil && least.Type == intstr.Int:
		out.Desired = new(least.IntVal)
	}
	return out
}

// Healthy reports whether a PodDisruptionBudget that selects a pod counts it: it is not terminating and, as far as its status shows,
// runs and is ready (pkg/controller/disruption/disruption.go countHealthyPods, v1.37).
func Healthy(p *corev1.Pod) bool {
	r := convert.Readiness(p)
	return p.DeletionTimestamp == nil && r != stowagev1.PodReadiness_POD_READINESS_PENDING && r != stowagev1.PodReadiness_POD_READINESS_NOT_READY
}

// Selects reports whether a PodDisruptionBudget selects a pod of its namespace.
func (b *Budget) Selects(p *corev1.Pod) bool {
	return object.Namespace(p) == b.Namespace && b.Selector.Matches(labels.Set(p.Labels))
}
