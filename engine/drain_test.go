package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/enginetest"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// drainedPods are equal pods of a node, as the reference lists them.
type drainedPods struct {
	pod     api.Pod // without a name if they are counted
	node    uint32
	count   int
	at      int
	evicted int
}

func (p *drainedPods) reference(count int) verdict.PodReference {
	return verdict.PodReference{
		Namespace: p.pod.Template.Namespace, Name: statedName(p.pod.Name), Node: p.node, Count: count,
		Template: p.pod.TemplateIndex, Queue: -1,
	}
}

// movedPrefix begins the names of pods that the reference placed. They have none in answers.
const movedPrefix = "moved-"

func statedName(name string) string {
	if len(name) > len(movedPrefix) && name[:len(movedPrefix)] == movedPrefix {
		return ""
	}
	return name
}

// drainBatch is pods that are evicted together.
type drainBatch struct {
	of      *drainedPods
	count   int
	round   int
	spent   bool // the budget
	message string
	// preempted reports whether the pods come again after a preemption that used the budgets owed up.
	preempted bool
	owed      []int
}

// referenceDrain drains nodes by rebuilding the cluster after each step, and placing each pod.
type referenceDrain struct {
	t      testing.TB
	o      engine.DrainOptions
	stated *api.Cluster
	left   []int // by budget
	short  []int // healthy pods that are missing
	moved  int

	out     *verdict.Drain
	current int                    // round
	gone    []verdict.PodReference // preempted pods that do not come again
	pending []drainBatch
}

func newReferenceDrain(t testing.TB, stated *api.Cluster, o engine.DrainOptions) *referenceDrain {
	r := &referenceDrain{t: t, o: o, stated: stated}
	for i := range stated.Budgets {
		r.left = append(r.left, int(max(0, stated.Budgets[i].DisruptionsAllowed)))
		b := &stated.Budgets[i]
		r.short = append(r.short, max(0, int(b.DesiredHealthy)-int(b.CurrentHealthy)))
		if r.stuck(i) {
			r.left[i] = 0
		}
	}
	return r
}

func (r *referenceDrain) stuck(budget int) bool {
	b := &r.stated.Budgets[budget]
	return b.Outdated || len(b.Disrupted) > 2000
}

// guards returns the budgets that are looked at when a pod is evicted.
func (r *referenceDrain) guards(p *api.Pod) []int {
	if r.o.IgnoreBudgets || p.Terminating || p.Readiness == api.PhasePending {
		return nil
	}
	return r.budgets(p)
}

// spends returns the budget that the eviction of a pod uses up, -1 for none.
func (r *referenceDrain) spends(p *api.Pod) int {
	of := r.guards(p)
	if len(of) != 1 {
		return -1
	}
	b := &r.stated.Budgets[of[0]]
	if p.Readiness == api.NotReady && (b.AlwaysAllow || b.DesiredHealthy > 0 && r.short[of[0]] == 0) {
		return -1
	}
	return of[0]
}

// healthy lets the budgets of pods that came back allow what the disruption controller computes.
func (r *referenceDrain) healthy(b *drainBatch, count int) {
	if r.o.IgnoreBudgets {
		return
	}
	of := r.budgets(&b.of.pod)
	for range count {
		for _, i := range of {
			switch {
			case b.preempted:
				if slices.Contains(b.owed, i) {
					r.left[i]++
				}
			case r.stuck(i):
			case b.spent:
				r.left[i]++
			case b.of.pod.Readiness != api.NotReady && b.of.pod.Readiness != api.PhasePending, r.stated.Budgets[i].DesiredHealthy <= 0:
			case r.short[i] > 0:
				r.short[i]--
			default:
				r.left[i]++
			}
		}
	}
}

// fork returns a reference that drains further without changing r.
func (r *referenceDrain) fork() *referenceDrain {
	f := *r
	f.left, f.short = slices.Clone(r.left), slices.Clone(r.short)
	return &f
}

// node returns a node of the rebuilt cluster for changes.
func (r *referenceDrain) node(i uint32) *api.Node {
	c := *r.stated
	c.Nodes = slices.Clone(c.Nodes)
	n := &c.Nodes[i]
	n.Pods, n.PodCounts = slices.Clone(n.Pods), slices.Clone(n.PodCounts)
	r.stated = &c
	return n
}

func (r *referenceDrain) budgets(p *api.Pod) (of []int) {
	labels := p.Template.Labels.With(p.Labels)
	for i, b := range r.stated.Budgets {
		if b.Namespace == p.Template.Namespace && b.Selector != nil &&
			!slices.ContainsFunc(b.Selector.MatchLabels, func(l api.Label) bool { return !slices.Contains(labels, l) }) {
			of = append(of, i)
		}
	}
	return of
}

// list returns the pods of a node.
func (r *referenceDrain) list(node uint32) (out []*drainedPods) {
	n := &r.stated.Nodes[node]
	for _, p := range n.PodCounts {
		same := func(o *drainedPods) bool {
			return o.pod.TemplateIndex == p.Template && o.pod.Terminating == p.Terminating &&
				(p.Terminating || o.pod.Readiness == p.Readiness)
		}
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].count += int(p.Count)
			continue
		}
		pod := api.Pod{Template: r.stated.Templates[p.Template], TemplateIndex: p.Template, Terminating: p.Terminating, Readiness: p.Readiness}
		out = append(out, &drainedPods{pod: pod, node: node, count: int(p.Count)})
	}
	for _, p := range n.Pods {
		out = append(out, &drainedPods{pod: p, node: node, count: 1})
	}
	return out
}

// remove removes pods from their node.
func (r *referenceDrain) remove(node uint32, name string, template, count int, terminating bool) {
	n := r.node(node)
	if name != "" {
		if i := slices.IndexFunc(n.Pods, func(p api.Pod) bool { return p.Name == name }); i >= 0 {
			leave(r.stated, n.Pods[i].Template.Namespace, name)
			n.Pods = slices.Delete(n.Pods, i, i+1)
		}
		return
	}
	for i := range n.PodCounts {
		if p := &n.PodCounts[i]; p.Template == template && p.Terminating == terminating {
			gone := min(int32(count), p.Count)
			p.Count -= gone
			count -= int(gone)
		}
	}
	n.PodCounts = slices.DeleteFunc(n.PodCounts, func(p api.PodCount) bool { return p.Count == 0 })
}

// drain drains nodes together.
func (r *referenceDrain) drain(nodes ...uint32) *verdict.Drain {
	r.stated = cordoned(r.stated, nodes...)
	r.out, r.gone, r.pending = &verdict.Drain{Nodes: nodes}, nil, nil
	var all []*drainedPods
	for _, node := range nodes {
		all = append(all, r.list(node)...)
	}
	for i := range all {
		all[i].at = i
	}
	refused := func(p *api.Pod) (reason verdict.BlockedReason, stays bool) {
		kind := p.Template.Controller.Kind
		switch {
		case kind == api.DaemonSet && !p.Template.Controller.Mirror && p.Template.Controller.Gone:
			if !r.o.Force {
				return verdict.BlockedWithoutDaemonSet, false
			}
		case kind == api.DaemonSet && !p.Template.Controller.Mirror && r.o.RefuseDaemonSetPods:
			return verdict.BlockedAsDaemonSetPod, false
		case kind == api.DaemonSet:
			return 0, true
		}
		switch {
		case p.Template.Spec.EmptyDir && !r.o.DeleteEmptyDirData:
			return verdict.BlockedByEmptyDir, false
		case kind == api.NoWorkload && !r.o.Force:
			return verdict.BlockedWithoutController, false
		case len(r.guards(p)) > 1:
			return verdict.BlockedBySeveralBudgets, false
		}
		return 0, false
	}
	for _, p := range all {
		if _, stays := refused(&p.pod); stays {
			r.out.Staying += p.count
			p.count = 0
		}
	}
	for last := false; ; {
		var now []drainBatch
		for _, p := range all {
			count := p.count
			if reason, _ := refused(&p.pod); reason != 0 {
				continue
			}
			spent := r.spends(&p.pod)
			if spent >= 0 {
				count = min(count, r.left[spent])
				r.left[spent] -= count
			}
			p.evicted += count
			if p.count -= count; count > 0 {
				now = append(now, drainBatch{of: p, count: count, round: r.out.Rounds, spent: spent >= 0})
			}
		}
		if len(now) == 0 {
			if last = r.o.Terminating && !last && r.out.Rounds > 0; !last {
				break
			}
		}
		for _, b := range r.round(now, all) {
			r.healthy(&b, b.count)
		}
		if len(now) > 0 {
			r.out.Rounds++
			last = false
		}
	}
	for _, b := range r.pending {
		r.out.Unplaced = append(r.out.Unplaced, verdict.UnplacedPod{Pod: b.of.reference(b.count), Message: b.message})
	}
	for _, p := range all {
		if p.count == 0 {
			continue
		}
		reason, _ := refused(&p.pod)
		b := verdict.BlockedPod{Pod: p.reference(p.count), Reason: reason}
		if reason == 0 {
			b.Reason = verdict.BlockedByBudget
			if of := r.spends(&p.pod); r.stated.Budgets[of].Outdated {
				b.Reason = verdict.BlockedByOutdatedBudget
			}
		}
		if reason == 0 || reason == verdict.BlockedBySeveralBudgets {
			for _, i := range r.budgets(&p.pod) {
				b.Budgets = append(b.Budgets, r.stated.Budgets[i].Name)
			}
		}
		r.out.Blocked = append(r.out.Blocked, b)
	}
	for _, p := range all {
		reason, stays := refused(&p.pod)
		if n := p.evicted + p.count; n > 0 && !stays && (reason == 0 || reason == verdict.BlockedBySeveralBudgets) &&
			p.pod.Readiness == api.ReadinessUnknown && len(r.guards(&p.pod)) > 0 {
			r.out.Doubts = append(r.out.Doubts, verdict.Doubt{Kind: verdict.AssumedReady, Pod: p.reference(n)})
		}
	}
	switch {
	case len(r.out.Blocked) > 0:
		r.out.Status = verdict.DrainBlocked
	case len(r.out.Unplaced) > 0:
		r.out.Status = verdict.DrainUnplaced
	default:
		r.out.Status = verdict.Drained
	}
	r.out.Doubts = append(r.out.Doubts, preemptedForGood(r.stated, r.gone)...)
	return r.out
}

// round evicts and places pods, and returns the pods that became ready.
func (r *referenceDrain) round(now []drainBatch, all []*drainedPods) (ready []drainBatch) {
	var leaving []drainBatch
	if r.current = r.out.Rounds; len(now) == 0 {
		r.current--
	}
	for _, b := range now {
		r.out.Evicted += b.count
		p := &b.of.pod
		if p.Terminating {
			r.out.Terminating += b.count
		}
		if r.o.Terminating {
			if p.Name == "" {
				r.remove(b.of.node, "", p.TemplateIndex, b.count, p.Terminating)
				n := r.node(b.of.node)
				n.PodCounts = append(n.PodCounts, api.PodCount{Template: p.TemplateIndex, Count: int32(b.count), Terminating: true})
			} else {
				n := r.node(b.of.node)
				for i := range n.Pods {
					if n.Pods[i].Name == p.Name {
						n.Pods[i].Terminating = true
					}
				}
			}
			leaving = append(leaving, b)
		} else {
			r.remove(b.of.node, p.Name, p.TemplateIndex, b.count, p.Terminating)
		}
		switch {
		case p.Terminating || p.Template.Controller.Kind == api.NoWorkload || p.Template.Controller.Gone:
		case p.TemplateIndex < 0:
			r.out.Unplaced = append(r.out.Unplaced, verdict.UnplacedPod{Pod: b.of.reference(b.count), Unknown: true})
		default:
			r.pending = append(r.pending, b)
		}
	}
	place := r.inOrder
	if r.o.Scheduler {
		place = func(ready *[]drainBatch) {
			for len(r.pending) > 0 {
				again := r.schedule(ready, leaving, all)
				if r.pending = append(r.pending, again...); len(again) == 0 {
					return
				}
			}
		}
	}
	place(&ready)
	for _, b := range leaving {
		r.remove(b.of.node, b.of.pod.Name, b.of.pod.TemplateIndex, b.count, true)
	}
	return ready
}

// comesBack is the pod that is created again.
func comesBack(p *api.Pod) api.Pod {
	return api.Pod{Template: p.Template, TemplateIndex: p.TemplateIndex, Labels: p.Labels}
}

// put puts a pod that came back on a node, with the devices that it got.
func (r *referenceDrain) put(p *api.Pod, node uint32, devices []verdict.PodDevices) {
	n := r.node(node)
	pod := comesBack(p)
	r.moved++
	pod.Name, pod.Readiness = fmt.Sprint(movedPrefix, r.moved), api.Ready
	pod.StartTime = 1<<40 + int64(r.moved) // after the pods of the cluster
	n.Pods = append(n.Pods, pod)
	claim(r.stated, &pod, devices)
}

func (r *referenceDrain) inOrder(ready *[]drainBatch) {
	var still []drainBatch
	for _, b := range r.pending {
		var nodes []uint32
		for ; b.count > 0; b.count-- {
			queue := []engine.Pending{{Pod: comesBack(&b.of.pod), Count: 1}}
			p, err := compiled(r.t, r.stated).Place(r.t.Context(), queue, engine.PlaceOptions{
				Profile: r.o.Profile, Candidates: r.o.Targets, Seed: r.o.Seed, FewestPods: r.o.FewestPods, Scan: true,
			})
			if err != nil {
				r.t.Fatal(err)
			}
			if p.Placements[0].Unplaced > 0 {
				b.message = p.Placements[0].Message
				break
			}
			nodes = append(nodes, p.Placements[0].Nodes[0])
			r.put(&b.of.pod, p.Placements[0].Nodes[0], p.Devices)
		}
		r.record(&b, nodes, ready)
		if b.count > 0 {
			still = append(still, b)
		}
	}
	r.pending = still
}

func (r *referenceDrain) record(b *drainBatch, nodes []uint32, ready *[]drainBatch) {
	if len(nodes) == 0 {
		return
	}
	r.out.Placed += len(nodes)
	if r.o.Moves {
		r.out.Moves = append(r.out.Moves, verdict.PodMove{Pod: b.of.reference(len(nodes)), Nodes: nodes, Round: b.round})
	}
	placed := *b
	placed.count = len(nodes)
	*ready = append(*ready, placed)
}

func (r *referenceDrain) schedule(ready *[]drainBatch, leaving []drainBatch, all []*drainedPods) (again []drainBatch) {
	var queue []engine.Pending
	for _, b := range r.pending {
		queue = append(queue, engine.Pending{Pod: comesBack(&b.of.pod), Count: b.count})
	}
	p, err := compiled(r.t, r.stated).Place(r.t.Context(), queue, engine.PlaceOptions{
		Profile: r.o.Profile, Candidates: r.o.Targets, Seed: r.o.Seed, FewestPods: r.o.FewestPods, Scheduler: true, Scan: true,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	var still []drainBatch
	pending := r.pending
	for i, b := range pending {
		result := &p.Placements[i]
		for _, node := range result.Nodes {
			r.put(&b.of.pod, node, nil)
		}
		r.record(&b, result.Nodes, ready)
		evicted := b
		if b.count = result.Unplaced; b.count > 0 {
			b.message = result.Message
			still = append(still, b)
		}
		if evicted.count = result.Evicted; evicted.count > 0 {
			again = append(again, evicted)
		}
	}
	r.pending = still
	for _, e := range p.Evictions {
		for _, v := range e.Victims {
			if v.Queue >= 0 {
				v.Template, v.Queue = pending[v.Queue].of.pod.TemplateIndex, -1
				r.out.Preempted = appendPreempted(r.out.Preempted, v)
				continue
			}
			one := v
			one.Count = 1
			for range v.Count {
				if b, ok := r.preempted(one, leaving, all); ok {
					again = appendDrainBatch(again, b)
				}
			}
		}
	}
	return again
}

func (r *referenceDrain) preempted(v verdict.PodReference, leaving []drainBatch, all []*drainedPods) (again drainBatch, ok bool) {
	var pod *api.Pod
	if v.Name != "" {
		n := &r.stated.Nodes[v.Node]
		pod = &n.Pods[slices.IndexFunc(n.Pods, func(p api.Pod) bool { return p.Name == v.Name })]
	} else {
		pod = &api.Pod{Template: r.stated.Templates[v.Template], TemplateIndex: v.Template}
		for _, p := range r.stated.Nodes[v.Node].PodCounts { // pods of one template are alike
			if p.Template == v.Template && !p.Terminating {
				pod.Readiness = p.Readiness
			}
		}
	}
	for _, b := range leaving {
		if b.of.node == v.Node && b.of.pod.Name == v.Name {
			r.remove(v.Node, v.Name, v.Template, v.Count, true)
			return drainBatch{}, false
		}
	}
	moved := statedName(v.Name) != v.Name
	again = drainBatch{of: &drainedPods{pod: *pod, node: v.Node}, count: v.Count, round: r.current}
	for _, b := range r.budgets(pod) {
		if pod.Readiness != api.NotReady && pod.Readiness != api.PhasePending {
			again.preempted = true
			if r.left[b] > 0 {
				r.left[b]--
				again.owed = append(again.owed, b)
			}
		}
	}
	for _, p := range all {
		if p.node == v.Node && p.pod.Name == v.Name && (v.Name != "" || p.pod.TemplateIndex == v.Template && !p.pod.Terminating) {
			p.count -= min(p.count, v.Count)
		}
	}
	ours := false
	for i := range r.out.Moves {
		m := &r.out.Moves[i]
		if at := slices.Index(m.Nodes, v.Node); moved && at >= 0 && m.Pod.Template == pod.TemplateIndex {
			ours = true
			break
		}
	}
	r.remove(v.Node, v.Name, v.Template, v.Count, false)
	if moved && ours {
		r.t.Skip("a pod that came back in an earlier round is preempted") // TestPreemptedAgain has it
	}
	v.Name = statedName(v.Name)
	v.Template = pod.TemplateIndex
	r.out.Preempted = appendPreempted(r.out.Preempted, v)
	controller := pod.Template.Controller
	ok = !pod.Terminating && pod.TemplateIndex >= 0 && controller.Creates() && controller.Kind != api.DaemonSet
	if !ok {
		r.gone = appendPreempted(r.gone, v)
	}
	again.of.pod.Name = statedName(again.of.pod.Name)
	return again, ok
}

// preemptedForGood returns the doubts about preempted pods that a controller creates again.
func preemptedForGood(stated *api.Cluster, pods []verdict.PodReference) (out []verdict.Doubt) {
	for _, p := range pods {
		if p.Queue < 0 && (p.Template < 0 || stated.Templates[p.Template].Controller.Creates()) {
			out = append(out, verdict.Doubt{Kind: verdict.PreemptedForGood, Pod: p})
		}
	}
	return out
}

// appendPreempted lists preempted pods, those without names together with equal ones before them.
func appendPreempted(list []verdict.PodReference, v verdict.PodReference) []verdict.PodReference {
	if n := len(list); n > 0 && v.Name == "" {
		last := &list[n-1]
		if last.Name == "" && last.Namespace == v.Namespace && last.Node == v.Node && last.Template == v.Template {
			last.Count += v.Count
			return list
		}
	}
	return append(list, v)
}

// appendDrainBatch lists a preempted pod that comes again, one without a name together with an equal one before it.
func appendDrainBatch(list []drainBatch, b drainBatch) []drainBatch {
	if n := len(list); n > 0 && b.of.pod.Name == "" {
		last := &list[n-1]
		if gocmp.Equal(last.of.pod, b.of.pod) && last.of.node == b.of.node && last.round == b.round && last.preempted == b.preempted &&
			slices.Equal(last.owed, b.owed) {
			last.count += b.count
			return list
		}
	}
	return append(list, b)
}

var readiness = []api.Readiness{api.ReadinessUnknown, api.Ready, api.Ready, api.NotReady, api.PhasePending}

// randomDrain returns a cluster of few nodes and the options of a drain.
func randomDrain(rng *rand.Rand) (*api.Cluster, engine.DrainOptions) {
	stated, _ := enginetest.RandomShared(rng)
	stated.Nodes = stated.Nodes[:min(len(stated.Nodes), 2+rng.IntN(4))]
	kinds := []api.WorkloadKind{
		api.ReplicaSet, api.ReplicaSet, api.StatefulSet, api.OtherController, api.ReplicationController, api.DaemonSet, api.NoWorkload,
	}
	for _, t := range stated.Templates {
		t.Controller = api.ControllerReference{Kind: kinds[rng.IntN(len(kinds))], Name: "owner"}
		if t.Controller.Kind == api.NoWorkload && rng.IntN(2) == 0 {
			t.Controller.Kind = api.ReplicaSet
		}
		if t.Controller.Kind == api.NoWorkload {
			t.Controller.Name = ""
		}
		if t.Controller.Kind == api.DaemonSet {
			t.Controller.Mirror, t.Controller.Gone = rng.IntN(3) == 0, rng.IntN(4) == 0
		}
		t.Spec.EmptyDir = rng.IntN(6) == 0
		t.Spec.Priority = rng.Int32N(3)
		if rng.IntN(8) == 0 {
			tolerates := api.Toleration{Key: unschedulable.Key, Operator: api.TolerationExists}
			t.Spec.Tolerations = append(slices.Clone(t.Spec.Tolerations), tolerates)
		}
		if rng.IntN(3) > 0 {
			t.Spec.NodeSelector = nil
		}
		for i := range t.Spec.Spread {
			t.Spec.Spread[i].HonorNodeTaints = rng.IntN(3) == 0
		}
	}
	start := int64(1)
	unknown := rng.IntN(3) == 0
	for i := range stated.Nodes {
		n := &stated.Nodes[i]
		n.Nominated = nil
		n.Unschedulable = n.Unschedulable && rng.IntN(3) == 0
		for j := range n.Pods {
			p := &n.Pods[j]
			if p.TemplateIndex < 0 && (!unknown || rng.IntN(2) == 0) {
				if p.TemplateIndex = slices.Index(stated.Templates, p.Template); p.TemplateIndex < 0 {
					p.TemplateIndex = len(stated.Templates)
					p.Template.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: "owner"}
					stated.Templates = append(stated.Templates, p.Template)
				}
			}
			p.StartTime = start
			start++
			p.Readiness = readiness[rng.IntN(len(readiness))]
		}
	}
	byTemplate := make(map[int]api.Readiness)
	for i := range stated.Nodes {
		for j := range stated.Nodes[i].PodCounts {
			p := &stated.Nodes[i].PodCounts[j]
			if _, drawn := byTemplate[p.Template]; !drawn {
				byTemplate[p.Template] = readiness[rng.IntN(len(readiness))]
			}
			p.Readiness = byTemplate[p.Template]
		}
	}
	for i := range rng.IntN(4) {
		b := api.PodDisruptionBudget{
			Namespace: []string{"default", "default", "other"}[rng.IntN(3)], Name: fmt.Sprint("budget-", i),
			Selector: enginetest.Selects("app", []string{"web", "db", "cache"}[rng.IntN(3)]), DisruptionsAllowed: rng.Int32N(5) - 1,
		}
		switch rng.IntN(10) {
		case 0:
			b.Selector = nil
		case 1:
			b.Selector = &api.LabelSelector{}
		case 2:
			b.Disrupted = []string{stated.Nodes[0].Name + "-0"}
		case 3:
			b.Disrupted = slices.Repeat([]string{"gone"}, 1999+rng.IntN(3))
		case 4:
			b.Outdated = true
		}
		b.AlwaysAllow, b.CurrentHealthy, b.DesiredHealthy = rng.IntN(4) == 0, rng.Int32N(3), rng.Int32N(4)
		stated.Budgets = append(stated.Budgets, b)
	}
	o := engine.DrainOptions{
		Profile: api.Kube137(), Seed: rng.Uint64N(3), Terminating: rng.IntN(3) == 0, IgnoreBudgets: rng.IntN(6) == 0,
		Force: rng.IntN(2) == 0, Moves: true, DeleteEmptyDirData: rng.IntN(3) > 0, RefuseDaemonSetPods: rng.IntN(5) == 0,
	}
	o.FewestPods = o.Seed == 2
	if rng.IntN(4) == 0 {
		o.Targets = subset(rng, len(stated.Nodes))
	}
	if rng.IntN(3) == 0 {
		o.Nodes = subset(rng, len(stated.Nodes))
	}
	return stated, o
}

func subset(rng *rand.Rand, of int) []uint32 {
	nodes := []uint32{}
	for i := range of {
		if rng.IntN(3) > 0 {
			nodes = append(nodes, uint32(i))
		}
	}
	return nodes
}

func drains(t testing.TB, c *engine.Cluster, o engine.DrainOptions) (out []*verdict.Drain, sum *verdict.DrainSummary) {
	t.Helper()
	sum, err := c.Drain(t.Context(), o, func(d *verdict.Drain) error {
		out = append(out, d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, sum
}

func drainNodes(stated *api.Cluster, o *engine.DrainOptions) []uint32 {
	if o.Nodes != nil {
		return o.Nodes
	}
	var all []uint32
	for i := range stated.Nodes {
		all = append(all, uint32(i))
	}
	return all
}

// TestDrainAsIfStated compares drains, each alone and all together, with clusters that are rebuilt after each step.
func TestDrainAsIfStated(t *testing.T) {
	for _, scheduler := range []bool{false, true} {
		t.Run(fmt.Sprint("scheduler=", scheduler), func(t *testing.T) {
			seen := make(map[string]int)
			for seed := range uint64(cases(1500)) {
				t.Run("", func(t *testing.T) { compareDrains(t, seed, scheduler, seen) })
			}
			t.Log(seen)
			kinds := []string{"drained", "unplaced", "blocked", "rounds", "moved", "unknown", "staying", "returned", "several"}
			if scheduler {
				kinds = append(kinds, "preempted")
			}
			for _, kind := range kinds {
				if seen[kind] == 0 && !testing.Short() {
					t.Errorf("no case is %s", kind)
				}
			}
		})
	}
}

func compareDrains(t *testing.T, seed uint64, scheduler bool, seen map[string]int) {
	rng := rand.New(rand.NewPCG(seed, 61))
	stated, o := randomDrain(rng)
	if o.Scheduler = scheduler; scheduler {
		for i := range stated.Nodes {
			n := &stated.Nodes[i]
			for j := range n.PodCounts {
				n.PodCounts[j].Terminating = false // victims do not show it
			}
			if o.Terminating {
				n.PodCounts = nil // counted pods have no start time, so that ties depend on how they are listed
			}
		}
	}
	for i := range stated.Nodes {
		for j := range stated.Nodes[i].Pods {
			labelOneself(rng, &stated.Nodes[i].Pods[j])
		}
	}
	if seed%4 == 3 && !scheduler {
		withDevices(rng, stated, nil)
	}
	c := compiled(t, stated)
	nodes := drainNodes(stated, &o)
	var want []*verdict.Drain
	for _, n := range nodes {
		want = append(want, newReferenceDrain(t, stated, o).drain(n))
	}
	got, sum := drains(t, c, o)
	for _, d := range got {
		forgetUndecided(t, stated, d)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("seed %d, each of %v, %+v (-stated +drained):\n%s", seed, nodes, o, diff)
	}
	drained := 0
	for _, d := range got {
		noteDrain(seen, d)
		if d.Status == verdict.Drained {
			drained++
		}
	}
	if sum.Total != len(nodes) || sum.Drained != drained {
		t.Fatalf("seed %d: %+v, but %d of %d", seed, sum, drained, len(nodes))
	}
	together := []*verdict.Drain{newReferenceDrain(t, stated, o).drain(nodes...)}
	o.Mode = engine.DrainTogether
	got, _ = drains(t, c, o)
	forgetUndecided(t, stated, got[0])
	if diff := gocmp.Diff(together, got); diff != "" {
		t.Fatalf("seed %d, together %v, %+v (-stated +drained):\n%s", seed, nodes, o, diff)
	}
	noteDrain(seen, got[0])
}

// labelOneself gives some pods a label of their own, and a spread constraint that reads it to the templates of some.
func labelOneself(rng *rand.Rand, p *api.Pod) {
	if rng.IntN(3) > 0 {
		p.Labels = api.Labels{{Key: "slot", Value: []string{"0", "1"}[rng.IntN(2)]}}
	}
	if s := &p.Template.Spec; rng.IntN(4) == 0 {
		s.Spread = append(slices.Clip(s.Spread), api.TopologySpreadConstraint{
			TopologyKey: zoneKey, MaxSkew: 1, MinDomains: 1, ScheduleAnyway: rng.IntN(2) == 0,
			LabelSelector: enginetest.Selects("slot", "0"),
		})
	}
}

func noteDrain(seen map[string]int, d *verdict.Drain) {
	seen[[]string{"", "drained", "unplaced", "blocked"}[d.Status]]++
	seen["moved"] += len(d.Moves)
	seen["staying"] += d.Staying
	seen["preempted"] += len(d.Preempted)
	if d.Rounds > 1 {
		seen["rounds"]++
	}
	for _, m := range d.Moves {
		if slices.Contains(d.Nodes, m.Nodes[0]) {
			seen["returned"]++
		}
	}
	for _, u := range d.Unplaced {
		if u.Unknown {
			seen["unknown"]++
		}
	}
	for _, b := range d.Blocked {
		if b.Reason == verdict.BlockedBySeveralBudgets {
			seen["several"]++
		}
	}
}

// A pod without a node is attempted again in later rounds, and a budget that allows one pod at a time is spent again.
func TestDrainRounds(t *testing.T) {
	selects := enginetest.Selects("app", "db")
	db, web := enginetest.MakePod("").Label("app", "db"), enginetest.MakePod("").Label("app", "web").AntiAffinity(zoneKey, selects)
	db.Template.Spec.NodeSelector = api.Labels{{Key: zoneKey, Value: "2"}}
	web.Template.Spec.NodeSelector = api.Labels{{Key: zoneKey, Value: "1"}}
	for _, p := range []*enginetest.Pod{db, web} {
		p.Template.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: "owner"}
	}
	node := func(name, zone string) *enginetest.Node {
		return enginetest.MakeNode(name).Zone(zone).Allocate("cpu", 1000, "pods", 10)
	}
	stated := enginetest.Cluster(node("a", "1"), node("b", "1"), node("c", "1"), node("d", "2"))
	stated.Templates = []*api.PodTemplate{db.Template, web.Template}
	stated.Nodes[0].PodCounts = []api.PodCount{{Template: 1, Count: 1}}
	stated.Nodes[1].PodCounts = []api.PodCount{{Template: 0, Count: 2, Readiness: api.Ready}}
	stated.Budgets = []api.PodDisruptionBudget{{Namespace: "default", Name: "one", Selector: selects, DisruptionsAllowed: 1}}
	o := engine.DrainOptions{Profile: api.Kube137(), Mode: engine.DrainTogether, Nodes: []uint32{0, 1}, Moves: true}
	got, _ := drains(t, compiled(t, stated), o)
	if diff := gocmp.Diff(newReferenceDrain(t, stated, o).drain(0, 1), got[0]); diff != "" {
		t.Errorf("-stated +drained:\n%s", diff)
	}
	// The first pod that is attempted is placed second: after the last pod that it avoids has left.
	if m := got[0].Moves; got[0].Status != verdict.Drained || got[0].Rounds != 2 || m[1].Pod.Template != 1 || m[1].Round != 0 {
		t.Errorf("%+v", got[0])
	}
}

// A pod that came back is preempted by one of a later round: its move is taken back, and it finds no node again. The cases
// are worked out by hand, as the reference has none of them.
func TestPreemptedAgain(t *testing.T) {
	owner := api.ControllerReference{Kind: api.ReplicaSet, Name: "owner"}
	db := enginetest.MakePod("").Label("app", "db").Request("cpu", 500).Priority(10)
	low := enginetest.MakePod("").Label("app", "low").Request("cpu", 200)
	db.Template.Controller, low.Template.Controller = owner, owner
	pods := func(template, node, count int) verdict.PodReference {
		return verdict.PodReference{Namespace: "default", Template: template, Node: uint32(node), Count: count, Queue: -1}
	}
	for _, c := range []struct{ cpu, preempted int }{{1400, 0}, {1200, 1}, {1000, 2}} {
		stated := enginetest.Cluster(
			enginetest.MakeNode("a").Allocate("cpu", 2000, "pods", 10), enginetest.MakeNode("b").Allocate("cpu", c.cpu, "pods", 10),
		)
		stated.Templates = []*api.PodTemplate{db.Template, low.Template}
		stated.Nodes[0].PodCounts = []api.PodCount{{Template: 0, Count: 2, Readiness: api.Ready}, {Template: 1, Count: 2}}
		selects := enginetest.Selects("app", "db")
		stated.Budgets = []api.PodDisruptionBudget{{Namespace: "default", Name: "one", Selector: selects, DisruptionsAllowed: 1}}
		o := engine.DrainOptions{Profile: api.Kube137(), Nodes: []uint32{0}, Scheduler: true, Moves: true}

		want := &verdict.Drain{Nodes: []uint32{0}, Status: verdict.Drained, Evicted: 4, Placed: 4 - c.preempted, Rounds: 2}
		want.Moves = []verdict.PodMove{{Pod: pods(0, 0, 1), Nodes: []uint32{1}}}
		if stay := 2 - c.preempted; stay > 0 {
			want.Moves = append(want.Moves, verdict.PodMove{Pod: pods(1, 0, stay), Nodes: slices.Repeat([]uint32{1}, stay)})
		}
		want.Moves = append(want.Moves, verdict.PodMove{Pod: pods(0, 0, 1), Nodes: []uint32{1}, Round: 1})
		if c.preempted > 0 {
			want.Status, want.Preempted = verdict.DrainUnplaced, []verdict.PodReference{pods(1, 1, c.preempted)}
			want.Unplaced = append(want.Unplaced, verdict.UnplacedPod{
				Pod: pods(1, 0, c.preempted), Message: "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.",
			})
		}
		for _, o.Scan = range []bool{false, true} {
			got, _ := drains(t, compiled(t, stated), o)
			if diff := gocmp.Diff([]*verdict.Drain{want}, got); diff != "" {
				t.Errorf("cpu %d, scan %t (-want +drained):\n%s", c.cpu, o.Scan, diff)
			}
		}
	}
}

// A pod without a controller is not evicted, but a pod that comes back to its node may preempt it: then the node is drained.
func TestLargestSetPreempts(t *testing.T) {
	alone, comes := enginetest.MakePod("").Request("cpu", 1000), enginetest.MakePod("").Request("cpu", 2000).Priority(1)
	comes.Template.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: "owner"}
	comes.Template.Spec.Tolerations = []api.Toleration{{Key: unschedulable.Key, Operator: api.TolerationExists}}
	stated := enginetest.Cluster(enginetest.MakeNode("a").Allocate("cpu", 2500, "pods", 10))
	stated.Templates = []*api.PodTemplate{alone.Template, comes.Template}
	stated.Nodes[0].PodCounts = []api.PodCount{{Template: 0, Count: 1}, {Template: 1, Count: 1}}
	for scheduler, want := range map[bool]int{false: 0, true: 1} {
		o := engine.DrainOptions{
			Profile: api.Kube137(), Mode: engine.DrainLargestSet, Nodes: []uint32{0}, Steps: 100, Scheduler: scheduler,
		}
		if got, sum := drains(t, compiled(t, stated), o); len(got) != want || sum.Drained != want || !sum.Proven {
			t.Errorf("scheduler %t: %d drains and %+v, but %d nodes can be drained", scheduler, len(got), sum, want)
		}
	}
}

// A pod keeps a label of its own that only a pod of a later round reads: pod-2 then has no reason to avoid node-0.
func TestOwnLabelsInLaterRounds(t *testing.T) {
	one := enginetest.MakePod("pod-1")
	two := enginetest.MakePod("pod-2").Spread("kubernetes.io/hostname", 1, &api.LabelSelector{
		MatchExpressions: []api.Requirement{{Key: "slot", Operator: api.DoesNotExist}},
	})
	one.Labels = api.Labels{{Key: "slot", Value: "0"}}
	for _, p := range []*enginetest.Pod{one, two} {
		p.Template.Controller = api.ControllerReference{Kind: api.OtherController}
	}
	node := func(name string) *enginetest.Node {
		return enginetest.MakeNode(name).Label("kubernetes.io/hostname", name).Allocate("pods", 110)
	}
	stated := enginetest.Cluster(node("node-0"), enginetest.MakeNode("drained").Run(one, two), node("node-2"))
	shareTemplates(stated)
	stated.Budgets = []api.PodDisruptionBudget{
		{Namespace: "default", Name: "one", Selector: &api.LabelSelector{}, DisruptionsAllowed: 1},
	}
	for _, scheduler := range []bool{false, true} {
		o := engine.DrainOptions{Profile: api.Kube137(), Nodes: []uint32{1}, Moves: true, Scheduler: scheduler}
		got, _ := drains(t, compiled(t, stated), o)
		if m := got[0].Moves; len(m) != 2 || m[0].Nodes[0] != 0 || m[1].Nodes[0] != 0 || m[1].Round != 1 {
			t.Errorf("scheduler %v: %+v", scheduler, m)
		}
	}
}

// The rules of the eviction API for PodDisruptionBudgets, one by one (pkg/registry/core/pod/storage/eviction.go, v1.37.1).
func TestEvictionBudgets(t *testing.T) {
	web, bare := enginetest.MakePod("web").Label("app", "web"), enginetest.MakePod("bare")
	gone := enginetest.MakePod("gone").Label("app", "web").Terminate()
	for _, p := range []*enginetest.Pod{web, bare, gone} {
		p.Template.Controller = api.ControllerReference{Kind: api.ReplicaSet, Name: "owner"}
	}
	budget := func(s *api.LabelSelector, allowed int32, disrupted ...string) api.PodDisruptionBudget {
		return api.PodDisruptionBudget{
			Namespace: "default", Name: "b", Selector: s, DisruptionsAllowed: allowed, Disrupted: disrupted,
		}
	}
	selects, all, elsewhere := enginetest.Selects("app", "web"), &api.LabelSelector{}, budget(&api.LabelSelector{}, 0)
	elsewhere.Namespace = "other"
	many := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprint("pod-", i))
		}
		return names
	}
	in := func(r api.Readiness) *enginetest.Pod {
		p := *web
		p.Readiness = r
		return &p
	}
	health := func(allowed, current, desired int32) api.PodDisruptionBudget {
		b := budget(selects, allowed)
		b.CurrentHealthy, b.DesiredHealthy = current, desired
		return b
	}
	always := func(b api.PodDisruptionBudget) api.PodDisruptionBudget {
		b.AlwaysAllow = true
		return b
	}
	outdated := func(b api.PodDisruptionBudget) api.PodDisruptionBudget {
		b.Outdated = true
		return b
	}
	for _, c := range []struct {
		name    string
		budgets []api.PodDisruptionBudget
		pod     *enginetest.Pod
		want    verdict.BlockedReason
	}{
		{"none", nil, web, 0},
		{"allowed", []api.PodDisruptionBudget{budget(selects, 1)}, web, 0},
		{"not allowed", []api.PodDisruptionBudget{budget(selects, 0)}, web, verdict.BlockedByBudget},
		{"negative", []api.PodDisruptionBudget{budget(selects, -1)}, web, verdict.BlockedByBudget},
		{"disrupted already", []api.PodDisruptionBudget{budget(selects, 0, "web")}, web, verdict.BlockedByBudget},
		{"2000 disrupted", []api.PodDisruptionBudget{budget(selects, 1, many(2000)...)}, web, 0},
		{"2001 disrupted", []api.PodDisruptionBudget{budget(selects, 1, many(2001)...)}, web, verdict.BlockedByBudget},
		{"no selector", []api.PodDisruptionBudget{budget(nil, 0)}, web, 0},
		{"empty selector", []api.PodDisruptionBudget{budget(all, 0)}, web, verdict.BlockedByBudget},
		{"empty selector, no labels", []api.PodDisruptionBudget{budget(all, 0)}, bare, verdict.BlockedByBudget},
		{"other namespace", []api.PodDisruptionBudget{elsewhere}, web, 0},
		{"several", []api.PodDisruptionBudget{budget(selects, 5), budget(all, 5)}, web, verdict.BlockedBySeveralBudgets},
		{"terminating", []api.PodDisruptionBudget{budget(selects, 0)}, gone, 0},
		{"terminating, several", []api.PodDisruptionBudget{budget(selects, 0), budget(all, 0)}, gone, 0},
		{"pending", []api.PodDisruptionBudget{budget(selects, 0)}, in(api.PhasePending), 0},
		{"pending, several", []api.PodDisruptionBudget{budget(selects, 0), budget(all, 0)}, in(api.PhasePending), 0},
		{"not ready, several", []api.PodDisruptionBudget{budget(selects, 5), budget(all, 5)}, in(api.NotReady), verdict.BlockedBySeveralBudgets},
		{"not ready, healthy", []api.PodDisruptionBudget{health(0, 2, 2)}, in(api.NotReady), 0},
		{"ready, healthy", []api.PodDisruptionBudget{health(0, 2, 2)}, in(api.Ready), verdict.BlockedByBudget},
		{"not ready, not healthy", []api.PodDisruptionBudget{health(0, 1, 2)}, in(api.NotReady), verdict.BlockedByBudget},
		{"not ready, none desired", []api.PodDisruptionBudget{health(0, 0, 0)}, in(api.NotReady), verdict.BlockedByBudget},
		{"not ready, none desired, allowed", []api.PodDisruptionBudget{health(1, 1, 0)}, in(api.NotReady), 0},
		{"not ready, always", []api.PodDisruptionBudget{always(health(0, 0, 2))}, in(api.NotReady), 0},
		{"ready, always", []api.PodDisruptionBudget{always(health(0, 2, 2))}, in(api.Ready), verdict.BlockedByBudget},
		{"not ready, outdated", []api.PodDisruptionBudget{outdated(health(1, 2, 2))}, in(api.NotReady), 0},
		{"not ready, not healthy, outdated", []api.PodDisruptionBudget{outdated(health(1, 1, 2))}, in(api.NotReady), verdict.BlockedByOutdatedBudget},
		{"ready, outdated", []api.PodDisruptionBudget{outdated(health(1, 3, 2))}, in(api.Ready), verdict.BlockedByOutdatedBudget},
	} {
		stated := enginetest.Cluster(enginetest.MakeNode("a").Run(c.pod), enginetest.MakeNode("b"))
		stated.Budgets = c.budgets
		got, _ := drains(t, compiled(t, stated), engine.DrainOptions{Profile: api.Kube137(), Nodes: []uint32{0}})
		var reason verdict.BlockedReason
		if len(got[0].Blocked) > 0 {
			reason = got[0].Blocked[0].Reason
		}
		if reason != c.want || (reason == 0) != (got[0].Evicted == 1) {
			t.Errorf("%s: blocked by reason %d, want %d: %+v", c.name, reason, c.want, got[0])
		}
	}
}

// No answer depends on the number of goroutines.
func TestDrainWorkers(t *testing.T) {
	for seed := range uint64(cases(200)) {
		stated, o := randomDrain(rand.New(rand.NewPCG(seed, 63)))
		c := compiled(t, stated)
		want, _ := drains(t, c, o.WithWorkers(1))
		for range 3 {
			if got, _ := drains(t, c, o.WithWorkers(4)); gocmp.Diff(want, got) != "" {
				t.Fatalf("seed %d (-one +several):\n%s", seed, gocmp.Diff(want, got))
			}
		}
	}
}

// A drain does not depend on earlier drains of the same goroutine.
func TestDrainsAreApart(t *testing.T) {
	for seed := range uint64(cases(1500)) {
		rng := rand.New(rand.NewPCG(seed, 64))
		stated, o := randomDrain(rng)
		stated.PodGroups = []api.PodGroup{{Name: "default/one", Minimum: 1, DisruptAll: true}, {Name: "default/two"}}
		for _, t := range stated.Templates {
			if t.Namespace == "default" && rng.IntN(3) == 0 {
				t.Spec.SchedulingGroup = []string{"one", "two"}[rng.IntN(2)]
			}
		}
		o.Scheduler = true
		c := compiled(t, stated)
		got, _ := drains(t, c, o.WithWorkers(1))
		for i, n := range drainNodes(stated, &o) {
			alone := o
			alone.Nodes = []uint32{n}
			if want, _ := drains(t, c, alone); gocmp.Diff(want[0], got[i]) != "" {
				t.Fatalf("seed %d, node %d (-alone +after others):\n%s", seed, n, gocmp.Diff(want[0], got[i]))
			}
		}
	}
}

// An error of the function that the drains are passed to ends the call, and so does the context.
func TestDrainEnds(t *testing.T) {
	c := compiled(t, controlledCluster(100))
	stop := errors.New("stop")
	for _, mode := range []engine.DrainMode{engine.DrainEach, engine.DrainTogether, engine.DrainLargestSet} {
		o := engine.DrainOptions{Profile: api.Kube137(), Mode: mode, Steps: 1 << 10}
		passed := 0
		_, err := c.Drain(t.Context(), o, func(*verdict.Drain) error { passed++; return stop })
		if !errors.Is(err, stop) || passed != 1 {
			t.Errorf("mode %d: %v after %d drains", mode, err, passed)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Drain(ctx, o, func(*verdict.Drain) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
}

// TestLargestSetAsExhausted compares the largest set with all orders.
func TestLargestSetAsExhausted(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(cases(1000)) {
		t.Run("", func(t *testing.T) { compareLargest(t, seed, seen) })
	}
	t.Log(seen)
	if allCases() && min(seen["0"], seen["1"], seen["2"], seen["3"], seen["unproven"]) == 0 {
		t.Error("some outcome never occurs")
	}
}

func compareLargest(t *testing.T, seed uint64, seen map[string]int) {
	rng := rand.New(rand.NewPCG(seed, 62))
	stated, o := randomDrain(rng)
	if o.Scheduler = rng.IntN(4) == 0; o.Scheduler {
		o.Terminating = false
		for i := range stated.Nodes {
			for j := range stated.Nodes[i].PodCounts {
				stated.Nodes[i].PodCounts[j].Terminating = false
			}
		}
	}
	stated.Nodes = stated.Nodes[:min(len(stated.Nodes), 4)]
	if o.Nodes, o.Targets = nil, nil; rng.IntN(4) == 0 {
		o.Nodes, o.Targets = subset(rng, len(stated.Nodes)), subset(rng, len(stated.Nodes))
	}
	for i := range stated.Nodes { // so that some nodes can be drained
		n := &stated.Nodes[i]
		n.Pods, n.PodCounts = n.Pods[:min(len(n.Pods), 2)], n.PodCounts[:min(len(n.PodCounts), rng.IntN(3))]
	}
	o.Mode, o.Steps = engine.DrainLargestSet, 1<<20
	c := compiled(t, stated)
	want := longest(newReferenceDrain(t, stated, o), drainNodes(stated, &o))
	got, sum := drains(t, c, o)
	if sum.Drained != want || len(got) != want || !sum.Proven || sum.UpperBound != want {
		t.Fatalf("seed %d, %+v: %d drains and %+v, but %d nodes can be drained", seed, o, len(got), sum, want)
	}
	legal := newReferenceDrain(t, stated, o)
	for i, d := range got {
		if diff := gocmp.Diff(legal.drain(d.Nodes...), d); diff != "" || d.Status != verdict.Drained {
			t.Fatalf("seed %d, drain %d (-stated +drained):\n%s", seed, i, diff)
		}
	}
	seen[fmt.Sprint(want)]++
	full := sum.Steps
	for o.Steps = 1; o.Steps < min(full, 20); o.Steps += 1 + o.Steps/2 {
		got, sum := drains(t, c, o)
		if sum.Steps > o.Steps || sum.Drained != len(got) || sum.Drained > want || sum.UpperBound < want ||
			sum.Proven && sum.Drained != want {
			t.Fatalf("seed %d, %d steps: %d drains and %+v, but %d nodes can be drained", seed, o.Steps, len(got), sum, want)
		}
		if !sum.Proven {
			seen["unproven"]++
		}
	}
}

// longest returns the length of the longest order of nodes in which each is drained completely before the next one.
func longest(r *referenceDrain, left []uint32) (most int) {
	for i, node := range left {
		f := r.fork()
		if f.drain(node).Status != verdict.Drained {
			continue
		}
		if most = max(most, 1+longest(f, slices.Delete(slices.Clone(left), i, i+1))); most == len(left) {
			break
		}
	}
	return most
}
