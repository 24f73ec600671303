package expect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Drainer drains nodes of a case. After each round it applies the evictions and placements to the cluster, and requests the next
// placements from kube-scheduler.
type Drainer struct {
	c       *scenario.Case // the current cluster
	counted scenario.Counted
	// templates are the templates of pods on nodes in the request, by pod name.
	templates map[string]uint32
	left      []int // evictions that each budget allows
	came      map[string]comer
	attempts  int // how often pods were placed

	// DeleteEmptyDirData evicts pods with emptyDir volumes, as Consolidate does.
	DeleteEmptyDirData bool
}

// comer is a pod that was placed in an earlier round or drain.
type comer struct {
	at     int // orders them
	origin *corev1.Pod
	drain  *drain
	batch  drainBatch // with which it was placed
}

// NewDrainer returns a Drainer of the case's cluster.
func NewDrainer(c *scenario.Case, counted scenario.Counted, templates map[string]uint32) *Drainer {
	d := &Drainer{c: c, counted: counted, templates: templates, came: map[string]comer{}}
	for _, b := range c.PodDisruptionBudgets {
		d.left = append(d.left, max(0, int(b.Status.DisruptionsAllowed)))
	}
	return d
}

// Templates returns the templates that it was made with.
func (d *Drainer) Templates() map[string]uint32 { return d.templates }

// Fork returns a Drainer that drains further without changing d.
func (d *Drainer) Fork() *Drainer {
	out := *d
	out.left, out.came = slices.Clone(d.left), maps.Clone(d.came)
	return &out
}

// drainUnit is equal pods of a node that is drained.
type drainUnit struct {
	*scenario.Unit
	first   *corev1.Pod
	refused stowagev1.BlockedReason
	budgets []int // that select them
	budget  int   // the one that evictions use up, -1 for none
	stays   bool
	entry   int // of an earlier drain, which placed the pods
}

// drainBatch is pods of a unit that are evicted in one round.
type drainBatch struct {
	*drainUnit
	count   int
	round   uint32
	message string // of the last attempt to place them
	// preempted says that the pods come again after a preemption that used up the budgets owed.
	preempted bool
	owed      []int
}

// drain is one drain.
type drain struct {
	*Drainer
	out     *stowagev1.NodeDrain
	units   []*drainUnit
	pending []drainBatch
	leaving []*corev1.Pod // in this round
	ready   []int         // pods that were placed in this round, by budget
	moves   []int         // attempt and entry of each of out.Moves
	began   int           // the number of attempts when the round began
	again   *drainUnit    // of the pod that came again last
}

// Drain drains nodes, by ascending index, together.
func (d *Drainer) Drain(nodes ...int) (*stowagev1.NodeDrain, error) {
	r := &drain{Drainer: d, out: &stowagev1.NodeDrain{Nodes: &stowagev1.NodeList{}}}
	var names []string
	for _, n := range nodes {
		r.out.Nodes.Indexes = append(r.out.Nodes.Indexes, uint32(n))
		names = append(names, d.c.Nodes[n].Name)
	}
	c := *d.c
	c.Nodes = scenario.Cordon(c.Nodes, names)
	d.c = &c
	moved := func(p *corev1.Pod) (int, bool) {
		m, ok := d.came[scenario.PodName(p)]
		return m.at, ok
	}
	for _, n := range nodes {
		for _, u := range d.c.Units(n, d.counted, moved) {
			r.units = append(r.units, r.unit(u))
		}
	}
	if err := r.rounds(); err != nil {
		return nil, err
	}
	return r.finish(), nil
}

// unit decides which pods are evicted. kubectl's filters come first, in the order of k8s.io/kubectl/pkg/drain/filters.go, v0.37; of
// the remaining pods, the API server checks no budgets of terminating ones.
func (r *drain) unit(u *scenario.Unit) *drainUnit {
	p := u.Pods[0]
	out := &drainUnit{Unit: u, first: p, budget: -1, budgets: r.budgets(p)}
	controlled := metav1.GetControllerOfNoCopy(p) != nil
	switch {
	case scenario.Stays(p):
		out.stays = true
		r.out.StayingCount += uint32(len(u.Pods))
	case !r.DeleteEmptyDirData && slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil }):
		out.refused = stowagev1.BlockedReason_BLOCKED_REASON_EMPTY_DIR
	case !controlled && !r.c.Drain.Force:
		out.refused = stowagev1.BlockedReason_BLOCKED_REASON_NO_CONTROLLER
	case p.DeletionTimestamp != nil:
	case r.c.Drain.IgnoreBudgets:
	case len(out.budgets) > 1:
		out.refused = stowagev1.BlockedReason_BLOCKED_REASON_SEVERAL_BUDGETS
	case len(out.budgets) == 1:
		out.budget = out.budgets[0]
	}
	return out
}

// budgets returns the budgets that count for the eviction of a pod, as getPodDisruptionBudgets does
// (pkg/registry/core/pod/storage/eviction.go, v1.37).
func (d *Drainer) budgets(p *corev1.Pod) (of []int) {
	for i, b := range d.c.PodDisruptionBudgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && namespaceOf(b) == namespaceOf(p) && selector.Matches(labels.Set(p.Labels)) {
			of = append(of, i)
		}
	}
	return of
}

func namespaceOf(o metav1.Object) string { return cmp.Or(o.GetNamespace(), metav1.NamespaceDefault) }

// rounds evicts and places pods until no further pod can be evicted.
func (r *drain) rounds() error {
	for {
		evicted := r.evict()
		if evicted {
			r.out.RoundCount++
		} else {
			again := len(r.leaving) > 0 && len(r.pending) > 0
			if r.leave(); !again {
				return nil
			}
		}
		r.ready, r.began = make([]int, len(r.left)), r.attempts
		for again := true; again; {
			var err error
			if again, err = r.place(); err != nil {
				return err
			}
		}
		for i, n := range r.ready {
			r.left[i] += n
		}
	}
}

// evict evicts the pods of a round, and reports whether there are any. If so, the pods of the previous round leave first. The pods
// of the last round leave once it is known to be the last.
func (r *drain) evict() bool {
	var now []drainBatch
	for _, u := range r.units {
		count := len(u.Pods)
		if u.stays || u.refused != 0 {
			continue
		}
		if u.budget >= 0 {
			count = min(count, r.left[u.budget])
			r.left[u.budget] -= count
		}
		if count > 0 {
			now = append(now, drainBatch{drainUnit: u, count: count, round: r.out.RoundCount})
		}
	}
	if len(now) == 0 {
		return false
	}
	r.leave()
	for _, b := range now {
		r.out.EvictedCount += uint32(b.count)
		if b.first.DeletionTimestamp != nil {
			r.out.TerminatingCount += uint32(b.count)
		}
		gone := b.Pods[:b.count]
		b.Pods = b.Pods[b.count:]
		for _, p := range gone {
			if r.c.Drain.Terminating {
				r.leaving = append(r.leaving, p)
				r.replace(p, scenario.Terminating(p))
			} else {
				r.replace(p, nil)
			}
		}
		if scenario.Returns(b.first) {
			r.pending = append(r.pending, b)
		}
	}
	return true
}

// leave lets the pods go that terminate.
func (r *drain) leave() {
	for _, p := range r.leaving {
		r.replace(p, nil)
	}
	r.leaving = nil
}

// denominate removes the nominations of the case's pods, except pods that are still nominated.
func (d *Drainer) denominate(still []bool) {
	c := *d.c
	c.Nominated = nil
	for i, p := range d.c.Nominated {
		if still[i] {
			c.Nominated = append(c.Nominated, p)
		}
	}
	d.c = &c
}

// replace puts a pod in the place of another, or none.
func (d *Drainer) replace(p, by *corev1.Pod) {
	c := *d.c
	c.Pods = slices.Clone(c.Pods)
	i := slices.IndexFunc(c.Pods, func(o *corev1.Pod) bool { return scenario.PodName(o) == scenario.PodName(p) })
	switch {
	case i < 0:
	case by == nil:
		c.Pods = slices.Delete(c.Pods, i, i+1)
	default:
		c.Pods[i] = by
	}
	d.c = &c
}

// place places the pods that are pending.
// Preempted pods that come again are pending then, too.
func (r *drain) place() (comeAgain bool, err error) {
	if len(r.pending) == 0 {
		return false, nil
	}
	r.attempts++
	c := *r.c
	c.Candidates = c.Drain.Targets
	for i, b := range r.pending {
		pod := scenario.Again(r.origin(b.first), fmt.Sprintf("again-%d-%d", r.attempts, i))
		c.Queue = append(c.Queue, scenario.Pending{Pod: pod, Count: b.count})
	}
	answer, result, err := r.ask(&c)
	if err != nil {
		return false, err
	}
	r.bind(answer.ClaimBindings)
	var still, again []drainBatch
	pending := r.pending
	for i, b := range pending {
		p := answer.Placements[i]
		r.moved(&b, i, p.Nodes.Indexes, placings(result, i), c.Queue[i].Pod)
		evicted := b
		if b.count = int(p.UnplacedCount); b.count > 0 {
			b.message = p.Message
			still = append(still, b)
		}
		if evicted.count = int(p.EvictedCount); evicted.count > 0 {
			again = append(again, evicted)
		}
	}
	r.pending = still
	if result == nil {
		return false, nil
	}
	r.denominate(result.Nominated)
	for _, e := range result.Evictions {
		for _, v := range e.Victims {
			if v.Entry >= 0 {
				r.list(r.reference(pending[v.Entry].first, int(v.Node), true, 1))
				continue
			}
			if b, ok := r.preempted(v.Pod, int(v.Node)); ok {
				again = appendBatch(again, b)
			}
		}
	}
	r.pending = append(r.pending, again...)
	return len(again) > 0, nil
}

// bind keeps what placed pods bound for the next round.
func (r *drain) bind(bound []*stowagev1.ClaimBinding) {
	c := *r.c
	for _, b := range bound {
		c.Storage = c.Storage.Bind(b.Namespace, b.Name, b.VolumeName, c.Nodes[b.NodeIndex].Name)
	}
	r.c = &c
}

// ask has kube-scheduler place the queue of a case.
func (r *drain) ask(c *scenario.Case) (*stowagev1.PlaceResponse, *oracle.QueueResult, error) {
	if c.Whole {
		return wholeQueue(c, nil)
	}
	answer, _, err := inOrder(c, false)
	return answer, nil, err
}

func (d *Drainer) reference(p *corev1.Pod, node int, counted bool, count int) *stowagev1.PodReference {
	out := &stowagev1.PodReference{Namespace: namespaceOf(p), NodeIndex: new(uint32(node)), Count: uint32(count)}
	if !counted {
		out.Name = p.Name
	}
	if t, ok := d.templates[scenario.PodName(d.origin(p))]; ok {
		out.Origin = &stowagev1.PodReference_TemplateIndex{TemplateIndex: t}
	}
	return out
}

// finish lists the pods that are left, and sets the status.
func (r *drain) finish() *stowagev1.NodeDrain {
	out := r.out
	for _, b := range r.pending {
		out.Unplaced = append(out.Unplaced, &stowagev1.UnplacedPod{
			Pod: r.reference(b.first, b.Node, b.Counted, b.count), Message: b.message,
		})
	}
	for _, u := range r.units {
		if len(u.Pods) == 0 || u.stays {
			continue
		}
		blocked := &stowagev1.BlockedPod{
			Pod:    r.reference(u.first, u.Node, u.Counted, len(u.Pods)),
			Reason: cmp.Or(u.refused, stowagev1.BlockedReason_BLOCKED_REASON_BUDGET),
		}
		for _, i := range u.budgets {
			if u.refused != stowagev1.BlockedReason_BLOCKED_REASON_NO_CONTROLLER &&
				u.refused != stowagev1.BlockedReason_BLOCKED_REASON_EMPTY_DIR {
				b := r.c.PodDisruptionBudgets[i]
				blocked.Budgets = append(blocked.Budgets, &stowagev1.NamespacedName{Namespace: namespaceOf(b), Name: b.Name})
			}
		}
		slices.SortFunc(blocked.Budgets, func(a, b *stowagev1.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
		out.Blocked = append(out.Blocked, blocked)
	}
	switch {
	case len(out.Blocked) > 0:
		out.Status = stowagev1.DrainStatus_DRAIN_STATUS_BLOCKED
	case len(out.Unplaced) > 0:
		out.Status = stowagev1.DrainStatus_DRAIN_STATUS_UNPLACED
	default:
		out.Status = stowagev1.DrainStatus_DRAIN_STATUS_DRAINED
	}
	return out
}
