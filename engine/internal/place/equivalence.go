package place

import (
	"cmp"
	"context"
	"encoding/binary"
	"reflect"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/board"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/decide"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Class is an equivalence class: pods of the queue with identical scheduling constraints.
type Class struct {
	Pod  *cluster.Pending
	Scan bool // evaluate every node for each pod
	// Like is the class of the pods that these differ from in their nomination alone; nil for none.
	Like *Class
	// Decision is nil until the class's first pod is placed.
	Decision *decide.Decision

	// common is what pods with claims of their own have in common but for their names, if they may be on a board; nil if they may not.
	common *common

	pods int
	seat
	rejected   *decide.Outcome // the outcome of filtering when no node was feasible, after rejectedAt moves
	rejectedAt int
	preemption *verdict.Preemption // of rejected; nil until needed, and if there is none
	changes    []verdict.Change    // found after searchedAt moves, if searched
	searched   bool
	searchedAt int
	failure    *decide.Failure // of kube-scheduler to score the last pod; nil for none

	// yields is set if the pods must leave room for nominated pods. The board then has the nodes of open, except for nodes of blocked,
	// which are infeasible because of their nominated pods. changed counts how often blocked changed.
	yields        bool
	rules         *rule.Set
	open, blocked nodeset.Set
	changed       int
}

// seat is what a class has on a board.
type seat struct {
	board *board.Board
	// onBoard is nil if the pods are rejected as a whole.
	onBoard *board.Class
	// steady is set if onBoard follows all that changes in the state. Otherwise it is valid as long as the state has the revision.
	steady   bool
	revision int
}

// Copy returns the class for a queue on other candidates.
func (c *Class) Copy(scan bool) *Class {
	return &Class{Pod: c.Pod, Like: c.Like, pods: c.pods, Decision: c.Decision, Scan: c.Scan || scan, yields: c.yields, common: c.common}
}

// Kind returns the class itself, or the one that it is like.
func (c *Class) Kind() *Class { return cmp.Or(c.Like, c) }

// Error returns the error with which kube-scheduler fails on the last pod, empty for none. kube-scheduler runs no PreFilter
// for a pod that is gated, or without nodes.
func (c *Class) Error(candidates int) string {
	if c.Decision.Gated() != nil || candidates == 0 {
		return ""
	}
	if rejected := c.Decision.PreFilter().Rejected; rejected != nil && rejected.Code == verdict.Error {
		return rejected.Message(candidates)
	}
	if c.failure != nil {
		return c.failure.Message
	}
	return ""
}

// classKey identifies pods of one template with equal labels of their own. Unless all are kept, labels that no rule reads are left
// out.
type classKey struct {
	template    *api.PodTemplate
	labels      string
	terminating bool
	nomination
}

// nomination is what distinguishes pods because of nominations: the node that a pod is nominated to, and the name of a pod that a node
// of the cluster has as a nominated pod. Names also distinguish pods whose claims depend on them.
type nomination struct{ node, name string }

// maxCompared bounds the classes of one shape that a pod is compared with.
const maxCompared = 8

// classes returns the equivalence class of each queue entry.
func (q *Queue) classes(ctx context.Context) ([]*Class, error) {
	entries := make([]*Class, len(q.Pending))
	if q.Options.Scan {
		for i := range q.Pending {
			entries[i] = &Class{Pod: q.State.Compile(&q.Pending[i].Pod), Scan: true}
		}
		return entries, nil
	}
	byKey := make(map[classKey]*Class)
	byShape := make(map[intern.ID][]*Class)
	var all []*Class
	commons := make(map[classKey]*common)
	selected := q.selected()
	budgeted := q.preempts() && q.State.Budgets().Len() > 0
	nominated := q.State.NominatedNames()
	for i := range q.Pending {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		pod := &q.Pending[i].Pod
		key := classKey{template: pod.Template, terminating: pod.Terminating}
		key.node = pod.NominatedNode
		if nominated[pod.Name] || q.State.ByName(pod) {
			key.name = pod.Name
		}
		own := pod.Labels
		if len(own) > 0 {
			labels := own
			if own, key.labels = q.readable(own, selected); budgeted && len(own)+len(pod.Template.Labels) == 0 {
				own, key.labels = labels[:1], "any" // no PodDisruptionBudget selects a pod without labels
			}
		}
		c := byKey[key]
		if c == nil {
			compiled := q.State.Compile(&api.Pod{
				Name: key.name, Template: pod.Template, TemplateIndex: pod.TemplateIndex, Labels: own, Terminating: pod.Terminating,
				NominatedNode: key.node, ResourceClaimStatuses: pod.ResourceClaimStatuses,
			})
			shape := q.State.Identity(compiled)
			for _, other := range byShape[shape] {
				if key.nomination == (nomination{other.Pod.NominatedNode, other.Pod.Name}) && equal(pod.Template, other.Pod.Template) {
					c = other
					break
				}
			}
			if c == nil {
				c = &Class{Pod: compiled}
				all = append(all, c)
				if cluster.ClaimsOfPods(&pod.Template.Spec) {
					c.common = commonOf(commons, key)
				}
				if len(byShape[shape]) < maxCompared {
					byShape[shape] = append(byShape[shape], c)
				}
			}
			byKey[key] = c
		}
		c.pods += q.Pending[i].Count
		if c.common != nil {
			c.common.pods += q.Pending[i].Count
		}
		entries[i] = c
	}
	return entries, q.choose(ctx, all)
}

// preempts reports whether a search for victims may follow, so that labels count that PodDisruptionBudgets read.
func (q *Queue) preempts() bool { return q.Options.Preempt != nil || q.State.AnyNominated() }

// choose selects the classes that are placed by scanning.
func (q *Queue) choose(ctx context.Context, classes []*Class) error {
	fits := board.Fits(q.Framework.Scorers, q.Framework.Weights())
	for _, c := range classes {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		off := !fits || q.Framework.PreScoreFailure(c.Pod.Spec()) != nil || q.nominated(c)
		c.Scan = off || q.State.Binds(c.Pod.Spec()) || !q.Options.Tuning.Board && !pays(c.pods)
		if c.common != nil && (off || !q.Options.Tuning.Board && !pays(c.common.pods)) {
			c.common = nil
		}
		q.State.Expect(c.Pod)
	}
	return nil
}

// nominated reports whether nominations require that a class is placed by scanning: a pod that is nominated itself, or more
// nominated pods than pay to be evaluated for each pod.
func (q *Queue) nominated(c *Class) bool {
	if c.Pod.NominatedNode != "" {
		return true
	}
	if !q.State.AnyNominated() {
		return false
	}
	on := plugin.Both(q.Decision(c).YieldedOn(), q.Candidates)
	c.yields = !on.Empty()
	return on.Len()*yieldedShare > q.State.Len() && !q.Options.Tuning.Board
}

// yieldedShare is the ratio of all nodes to nodes with nominated pods from which on the board pays off.
const yieldedShare = 16

// pays reports whether the board costs less than scanning for a number of pods. The board costs about one scan.
// Placement.Scanned reports the result, so it depends on the queue alone.
func pays(pods int) bool { return pods > 1 }

// selected returns the keys of the pods' own labels that some rule reads; nil if no pod has labels of its own, or if all are kept.
func (q *Queue) selected() map[string]bool {
	if q.Options.KeepLabels {
		return nil
	}
	own := false
	for i := range q.Pending {
		own = own || len(q.Pending[i].Pod.Labels) > 0
	}
	if !own {
		return nil
	}
	var pending []*cluster.Pending
	seen := make(map[*api.PodTemplate]bool)
	for i := range q.Pending {
		if t := q.Pending[i].Pod.Template; !seen[t] {
			seen[t] = true
			pending = append(pending, q.State.Compile(&api.Pod{Template: t, TemplateIndex: -1}))
		}
	}
	keys := q.State.SelectedKeys(pending, q.preempts())
	for _, key := range q.Framework.Labels() {
		keys[key] = true
	}
	return keys
}

// readable returns the labels that a rule may read, which are the labels with keys in selected, and a string that is equal for equal
// labels.
func (q *Queue) readable(labels api.Labels, selected map[string]bool) (api.Labels, string) {
	var only api.Labels
	var b []byte
	for _, l := range labels {
		if q.Options.KeepLabels || selected[l.Key] {
			only = append(only, l)
			b = append(binary.AppendUvarint(b, uint64(len(l.Key))), l.Key...)
			b = append(binary.AppendUvarint(b, uint64(len(l.Value))), l.Value...)
		}
	}
	return only, string(b)
}

// equal reports whether two templates of one shape have the same constraints.
func equal(a, b *api.PodTemplate) bool {
	return a == b || a.Controller == b.Controller && reflect.DeepEqual(&a.Spec, &b.Spec)
}
