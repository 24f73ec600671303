package compare

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/stowage-scheduler/stowage/bench/conformance"
	"github.com/stowage-scheduler/stowage/bench/parity/expect"
	"github.com/stowage-scheduler/stowage/bench/parity/oracle"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/clients/kube/convert"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// runWhatIf compares the answers for a case's scenarios. Pods are counted here, as the order in which evicted pods come back
// depends on it; where a whole kube-scheduler runs the queue they have names and start times.
func runWhatIf(ctx context.Context, c *scenario.Case, stowage conformance.Service) (*Result, error) {
	simulation, ok := stowage.(conformance.Simulation)
	if !ok {
		return nil, errors.New("the service answers no WhatIf")
	}
	s, err := oracle.New(c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	r := &Result{}
	for _, form := range Forms {
		if form.CountPods && c.Whole {
			continue
		}
		q, err := newQuestion(c, s, form)
		if err != nil {
			r.Differences = []conformance.Difference{{Kind: "clients/kube fails", Text: err.Error()}}
			return r, nil
		}
		if form == Forms[0] || form.CountPods {
			if r.WhatIf, err = answers(c, q); err != nil {
				return nil, err
			}
		}
		if r.Differences = q.ask(ctx, c, simulation, r.WhatIf); len(r.Differences) > 0 {
			if form != Forms[0] {
				for i := range r.Differences {
					r.Differences[i].Kind += ", given " + form.String()
				}
			}
			break
		}
	}
	return r, nil
}

// Simulated is kube-scheduler's answer for a scenario.
type Simulated struct {
	Answer *stowagev1.WhatIfResponse
	Queue  *oracle.QueueResult // of a whole kube-scheduler
}

func answers(c *scenario.Case, q *question) ([]Simulated, error) {
	var out []Simulated
	for i := range c.WhatIf {
		answer, queue, err := expect.WhatIf(&c.WhatIf[i], c.After(&c.WhatIf[i], q.kindOf))
		if err != nil {
			return nil, fmt.Errorf("whatIf[%d]: %w", i, err)
		}
		answer.ScenarioIndex = uint32(i)
		out = append(out, Simulated{answer, queue})
	}
	return out, nil
}

// question is a case as a WhatIfRequest.
type question struct {
	request *stowagev1.WhatIfRequest
	cluster *stowagev1.Cluster
	counted map[string]*stowagev1.PodCount // the pods that are counted, by name
}

func newQuestion(c *scenario.Case, s *oracle.Scheduler, form Form) (*question, error) {
	place, err := PlaceRequest(c, s, Form{Stored: form.Stored})
	if err != nil {
		return nil, err
	}
	q := &question{cluster: place.Context.GetCluster(), counted: map[string]*stowagev1.PodCount{}}
	q.request = &stowagev1.WhatIfRequest{
		Context: place.Context, TieBreakSeed: c.TieBreakSeed, QueueMode: stowagev1.QueueMode_QUEUE_MODE_IN_ORDER,
	}
	if c.Whole {
		q.request.QueueMode = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
	}
	if form.CountPods {
		for _, n := range q.cluster.Nodes {
			q.count(n)
		}
	}
	for i := range c.WhatIf {
		one, err := q.scenario(c, &c.WhatIf[i], place.Queue)
		if err != nil {
			return nil, err
		}
		q.request.Scenarios = append(q.request.Scenarios, one)
	}
	return q, nil
}

// count counts a node's pods that have nothing of their own but a name and a start time.
func (q *question) count(n *stowagev1.Node) {
	n.Pods = slices.DeleteFunc(n.Pods, func(p *stowagev1.Pod) bool {
		of, shared := p.Source.(*stowagev1.Pod_TemplateIndex)
		if !shared || len(p.Labels) > 0 || p.ResourceStatus != nil || p.Preempted {
			return false
		}
		at := slices.IndexFunc(n.PodCounts, func(c *stowagev1.PodCount) bool {
			return c.TemplateIndex == of.TemplateIndex && c.Terminating == p.Terminating
		})
		if at < 0 {
			at = len(n.PodCounts)
			n.PodCounts = append(n.PodCounts, &stowagev1.PodCount{TemplateIndex: of.TemplateIndex, Terminating: p.Terminating})
		}
		n.PodCounts[at].Count++
		namespace := q.cluster.PodTemplates[of.TemplateIndex].Namespace
		q.counted[namespace+"/"+p.Name] = &stowagev1.PodCount{
			TemplateIndex: of.TemplateIndex, Count: 1, Terminating: p.Terminating,
		}
		return true
	})
}

func (q *question) kindOf(p *corev1.Pod) (int, bool) {
	c, ok := q.counted[scenario.PodName(p)]
	kind := 2 * int(c.GetTemplateIndex())
	if c.GetTerminating() {
		kind++
	}
	return kind, ok
}

func (q *question) scenario(c *scenario.Case, w *scenario.WhatIf, queue []*stowagev1.PendingPods) (*stowagev1.Scenario, error) {
	out := &stowagev1.Scenario{
		CordonedNodes: w.Cordoned, RemovedNodes: w.Removed, RequeueEvicted: w.Requeue, StopAtFirstUnplaced: w.Stop,
	}
	if w.Terminating {
		out.EvictedPods = stowagev1.EvictedPods_EVICTED_PODS_TERMINATING
	}
	var err error
	if out.Delta, err = q.delta(c, &w.Delta); err != nil {
		return nil, err
	}
	for _, e := range w.Evictions {
		n := &stowagev1.NodeEvictions{NodeName: e.Node, Drained: e.Drained}
		n.Pods, n.PodCounts = q.split(e.Pods)
		out.Evictions = append(out.Evictions, n)
	}
	for _, i := range w.Queue {
		if i < 0 || i >= len(queue) {
			return nil, fmt.Errorf("the queue has no entry %d", i)
		}
		out.Queue = append(out.Queue, queue[i])
	}
	return out, nil
}

// split returns the names of pods, and the counts of pods without names.
func (q *question) split(pods []string) (named []*stowagev1.NamespacedName, counts []*stowagev1.PodCount) {
	for _, name := range pods {
		one, counted := q.counted[name]
		if !counted {
			namespace, name, _ := strings.Cut(name, "/")
			named = append(named, &stowagev1.NamespacedName{Namespace: namespace, Name: name})
			continue
		}
		at := slices.IndexFunc(counts, func(c *stowagev1.PodCount) bool {
			return c.TemplateIndex == one.TemplateIndex && c.Terminating == one.Terminating
		})
		if at < 0 {
			counts = append(counts, proto.CloneOf(one))
			continue
		}
		counts[at].Count++
	}
	return named, counts
}

func (q *question) delta(c *scenario.Case, d *scenario.Delta) (*stowagev1.ClusterDelta, error) {
	out := &stowagev1.ClusterDelta{RemovedNodes: d.RemovedNodes, RemovedNamespaces: d.RemovedNamespaces}
	for _, n := range d.Namespaces {
		out.Namespaces = append(out.Namespaces, convert.Namespace(n))
	}
	for _, name := range d.RemovedServices {
		namespace, name, _ := strings.Cut(name, "/")
		out.RemovedWorkloadSelectors = append(out.RemovedWorkloadSelectors, &stowagev1.WorkloadSelectorName{
			Kind: stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE, Namespace: namespace, Name: name,
		})
	}
	for _, s := range d.Services {
		out.WorkloadSelectors = append(out.WorkloadSelectors, convert.ServiceSelector(s))
	}
	for _, name := range d.RemovedBudgets {
		namespace, name, _ := strings.Cut(name, "/")
		out.RemovedPodDisruptionBudgets = append(out.RemovedPodDisruptionBudgets, &stowagev1.NamespacedName{
			Namespace: namespace, Name: name,
		})
	}
	for _, b := range d.Budgets {
		out.PodDisruptionBudgets = append(out.PodDisruptionBudgets, convert.PodDisruptionBudget(b))
	}
	given := map[string]*stowagev1.Node{} // with all of their pods
	for _, n := range d.Nodes {
		node, err := convert.Node(n)
		if err != nil {
			return nil, err
		}
		for _, before := range q.cluster.Nodes {
			if before.Name == n.Name {
				before = proto.CloneOf(before)
				node.Pods, node.PodCounts, node.NominatedPods = before.Pods, before.PodCounts, before.NominatedPods
				node.CsiNode, node.AttachedVolumes = before.CsiNode, before.AttachedVolumes
				if before.ClassIndex != nil && node.CsiNode == nil {
					node.CsiNode = q.cluster.NodeClasses[before.GetClassIndex()].CsiNode
				}
			}
		}
		given[n.Name] = node
		out.Nodes = append(out.Nodes, node)
	}
	changes := map[string]*stowagev1.NodePodsDelta{}
	change := func(node string) *stowagev1.NodePodsDelta {
		if changes[node] == nil {
			changes[node] = &stowagev1.NodePodsDelta{NodeName: node}
			out.NodePods = append(out.NodePods, changes[node])
		}
		return changes[node]
	}
	for _, p := range c.Pods {
		name := scenario.PodName(p)
		if !slices.Contains(d.RemovedPods, name) {
			continue
		}
		named, counts := q.split([]string{name})
		if node := given[p.Spec.NodeName]; node != nil {
			without(node, named, counts)
			continue
		}
		n := change(p.Spec.NodeName)
		n.RemovedPods, n.RemovedPodCounts = append(n.RemovedPods, named...), append(n.RemovedPodCounts, counts...)
	}
	for _, p := range d.Pods {
		pod, err := podOn(p)
		if err != nil {
			return nil, err
		}
		if node := given[p.Spec.NodeName]; node != nil {
			node.Pods = append(node.Pods, pod)
			continue
		}
		n := change(p.Spec.NodeName)
		n.Pods = append(n.Pods, pod)
	}
	return out, nil
}

func without(n *stowagev1.Node, named []*stowagev1.NamespacedName, counts []*stowagev1.PodCount) {
	n.Pods = slices.DeleteFunc(n.Pods, func(p *stowagev1.Pod) bool { return len(named) > 0 && p.Name == named[0].Name })
	for i, c := range n.PodCounts {
		if len(counts) > 0 && c.TemplateIndex == counts[0].TemplateIndex && c.Terminating == counts[0].Terminating {
			if c.Count--; c.Count == 0 {
				n.PodCounts = slices.Delete(n.PodCounts, i, i+1)
			}
			return
		}
	}
}

// podOn converts a pod on a node, with a template of its own.
func podOn(p *corev1.Pod) (*stowagev1.Pod, error) {
	free := p.DeepCopy()
	free.Spec.NodeName = ""
	out, err := convert.PendingPod(free)
	if err == nil && p.Status.StartTime != nil {
		out.StartTime = timestamppb.New(p.Status.StartTime.Time)
	}
	return out, err
}

func (q *question) ask(
	ctx context.Context, c *scenario.Case, stowage conformance.Simulation, want []Simulated,
) (out []conformance.Difference) {
	defer func() {
		if p := recover(); p != nil {
			out = []conformance.Difference{{Kind: "panic", Text: fmt.Sprintf("%v\n%s", p, debug.Stack())}}
		}
	}()
	got, err := stowage.WhatIf(ctx, q.request)
	if err != nil {
		return []conformance.Difference{{Kind: "whatif fails", Text: err.Error()}}
	}
	if len(got) != len(want) {
		return []conformance.Difference{{Kind: "whatif answers", Text: fmt.Sprintf("%d of %d", len(got), len(want))}}
	}
	for i := range want {
		withoutTexts(c, want[i].Answer, got[i])
		if ran := want[i].Queue; ran != nil {
			leaveOpen(ran, want[i].Answer.GetPlacement())
			leaveOpen(ran, got[i].GetPlacement())
		}
		if d := conformance.DifferWhatIf(want[i].Answer, got[i], q.request.QueueMode); d != nil {
			d[0].Text = fmt.Sprintf("whatIf[%d]\n%s", i, d[0].Text)
			return d
		}
	}
	return nil
}

// Scenarios counts events in scenarios.
type Scenarios struct {
	Cases, All, Whole, Deltas, Cordons, Evictions, Removals, Terminating, Stopped int
	// Requeued pods came back, PreemptedAgain of them after a preemption and PlacedAgain of them on another node. The controllers of
	// Unknown ones were not known.
	Requeued, PreemptedAgain, PlacedAgain, Unknown int
	Placed, Unplaced, Preemptions                  int
}

// Add counts a case's scenarios.
func (o *Scenarios) Add(c *scenario.Case, results []Simulated) {
	count := func(n *int, when bool) {
		if when {
			*n++
		}
	}
	for i, r := range results {
		w := &c.WhatIf[i]
		o.All++
		count(&o.Whole, c.Whole)
		count(&o.Deltas, !w.Delta.Empty())
		count(&o.Cordons, len(w.Cordoned) > 0)
		count(&o.Evictions, len(w.Evictions) > 0)
		count(&o.Removals, len(w.Removed) > 0)
		count(&o.Terminating, w.Terminating && len(w.Evictions) > 0)
		count(&o.Stopped, r.Answer.Stopped)
		o.Placed += int(r.Answer.Placement.PlacedCount)
		o.Unplaced += int(r.Answer.Placement.UnplacedCount)
		o.Preemptions += len(r.Answer.Placement.Evictions)
		for j, p := range r.Answer.Requeued {
			o.Requeued += int(p.Pod.Count)
			if p.Preempted {
				o.PreemptedAgain += int(p.Pod.Count)
			}
			count(&o.Unknown, p.Unknown)
			o.PlacedAgain += len(r.Answer.Placement.Placements[len(w.Queue)+j].Nodes.GetIndexes())
		}
	}
}
