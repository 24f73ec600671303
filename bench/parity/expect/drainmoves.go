package expect

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// origin is the pod of the case that a pod came from.
func (d *Drainer) origin(p *corev1.Pod) *corev1.Pod {
	if m, ok := d.came[scenario.PodName(p)]; ok {
		return m.origin
	}
	return p
}

// settled is the start time of placed pods: after the pods of the case, and before the pods that a whole kube-scheduler places. It
// is also before now, kube-scheduler's start time of a pod without one.
var settled = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// placings returns for each node of an entry's placement when a pod was placed there in the run of the queue, from 1; nil if no
// queue was run.
func placings(result *oracle.QueueResult, entry int) (out []int) {
	if result == nil {
		return nil
	}
	for _, p := range result.Pods {
		if p.Entry == entry && p.Placed > 0 && !p.Evicted {
			out = append(out, p.Placed)
		}
	}
	slices.Sort(out)
	return out
}

// moved puts pods of a batch on nodes.
func (r *drain) moved(b *drainBatch, entry int, nodes []uint32, placings []int, pending *corev1.Pod) {
	if len(nodes) == 0 {
		return
	}
	c := *r.c
	c.Pods = slices.Clone(c.Pods)
	for i, n := range nodes {
		pod := pending.DeepCopy()
		pod.Name = fmt.Sprintf("%s-%d", pending.Name, i)
		pod.Spec.NodeName = c.Nodes[n].Name
		start := r.attempts << 10
		if placings != nil { // without a queue nothing is preempted
			start += placings[i]
		}
		pod.Status.StartTime = &metav1.Time{Time: settled.Add(time.Duration(start) * time.Second)}
		c.Pods = append(c.Pods, pod)
		r.came[scenario.PodName(pod)] = comer{at: r.attempts<<20 | entry<<10 | i, origin: r.origin(b.first), drain: r, batch: *b}
	}
	r.c = &c
	r.out.PlacedCount += uint32(len(nodes))
	r.out.Moves = append(r.out.Moves, &stowagev1.PodMove{
		Pod: r.reference(b.first, b.Node, b.Counted, len(nodes)), Nodes: &stowagev1.NodeList{Indexes: nodes}, Round: b.round,
	})
	r.moves = append(r.moves, r.attempts<<20|entry<<10)
	for _, i := range b.regains() {
		r.ready[i] += len(nodes)
	}
}

// regains returns the budgets that allow one more eviction for each of the pods that becomes ready.
func (b *drainBatch) regains() []int {
	switch {
	case b.preempted:
		return b.owed
	case b.budget >= 0:
		return []int{b.budget}
	}
	return nil
}

// preempted removes a pod from its node, and reports whether its controller creates it again.
func (r *drain) preempted(p *corev1.Pod, node int) (again drainBatch, ok bool) {
	if slices.ContainsFunc(r.leaving, func(o *corev1.Pod) bool { return scenario.PodName(o) == scenario.PodName(p) }) {
		return drainBatch{}, false // it leaves anyway
	}
	m, came := r.came[scenario.PodName(p)]
	switch {
	case came && m.drain == r:
		again, ok = m.batch, true
		again.count = 1
		r.unmove(m.at, uint32(node))
	case scenario.Returns(p):
		ok = true
		at := slices.IndexFunc(r.c.Pods, func(o *corev1.Pod) bool { return scenario.PodName(o) == scenario.PodName(p) })
		first := r.c.Pods[at] // not as the API server stores it
		again = drainBatch{count: 1, round: r.out.RoundCount - 1, drainUnit: r.unitAgain(node, first, m)}
	}
	r.replace(p, nil)
	if came && m.drain == r && m.at>>20 > r.began { // it was not ready yet
		for _, b := range again.regains() {
			r.ready[b]--
		}
	} else {
		again.preempted, again.owed = true, nil
		for _, b := range r.budgets(p) {
			if r.left[b] > 0 {
				r.left[b]--
				again.owed = append(again.owed, b)
			}
		}
	}
	for _, u := range r.units {
		u.Pods = slices.DeleteFunc(slices.Clone(u.Pods), func(o *corev1.Pod) bool { return scenario.PodName(o) == scenario.PodName(p) })
	}
	r.list(r.reference(p, node, came, 1))
	return again, ok
}

// unitAgain returns the unit of a preempted pod that was not drained. Pods that one entry of an earlier drain placed on a node are
// one unit if they are preempted one after the other.
func (r *drain) unitAgain(node int, first *corev1.Pod, from comer) *drainUnit {
	if last := r.again; last == nil || from.drain == nil || last.Node != node || last.entry != from.at>>10 {
		r.again = &drainUnit{Unit: &scenario.Unit{Node: node, Counted: from.drain != nil}, first: first, budget: -1, entry: from.at >> 10}
	}
	return r.again
}

// appendBatch lists a pod that comes again, with the last ones if they are alike.
func appendBatch(list []drainBatch, b drainBatch) []drainBatch {
	if n := len(list); n > 0 {
		last := &list[n-1]
		if last.drainUnit == b.drainUnit && last.round == b.round && last.preempted == b.preempted && slices.Equal(last.owed, b.owed) {
			last.count += b.count
			return list
		}
	}
	return append(list, b)
}

// unmove takes back that a pod was placed in an earlier round.
func (r *drain) unmove(at int, node uint32) {
	r.out.PlacedCount--
	i := slices.Index(r.moves, at&^(1<<10-1))
	m := r.out.Moves[i]
	if m.Pod.Count--; m.Pod.Count == 0 {
		r.out.Moves, r.moves = slices.Delete(r.out.Moves, i, i+1), slices.Delete(r.moves, i, i+1)
		return
	}
	on := slices.Index(m.Nodes.Indexes, node)
	m.Nodes.Indexes = slices.Delete(m.Nodes.Indexes, on, on+1)
}

// list lists a preempted pod. Equal ones without names are listed together.
func (r *drain) list(p *stowagev1.PodReference) {
	if n := len(r.out.Preempted); n > 0 && p.Name == "" {
		last := r.out.Preempted[n-1]
		same := last.Name == "" && last.Namespace == p.Namespace && last.GetNodeIndex() == p.GetNodeIndex()
		if same && last.GetTemplateIndex() == p.GetTemplateIndex() {
			last.Count++
			return
		}
	}
	r.out.Preempted = append(r.out.Preempted, p)
}
