package engine_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stowage-scheduler/stowage/engine"
	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// victimOf is one pod of a node as the oracle knows it.
type victimOf struct {
	pod   api.Pod
	count int // index in Node.PodCounts, -1 for a named pod
	at    int // index in Node.Pods, or the number of the counted pod
	order int // in the list of the node's pods
}

func (v *victimOf) start() int64 {
	if v.pod.StartTime == 0 {
		return math.MaxInt64
	}
	return v.pod.StartTime
}

// text names the victim; counted pods of one kind share it.
func (v *victimOf) text() string {
	if v.count >= 0 {
		return fmt.Sprint("counted ", v.count)
	}
	return v.pod.Name
}

// podsOf lists the pods of a node: counted ones, then named ones.
func podsOf(c *api.Cluster, node int) (pods []victimOf) {
	n := &c.Nodes[node]
	add := func(v victimOf) {
		v.order = len(pods)
		pods = append(pods, v)
	}
	for i, of := range n.PodCounts {
		for j := range of.Count {
			pod := api.Pod{Template: c.Templates[of.Template], TemplateIndex: of.Template, Terminating: of.Terminating}
			add(victimOf{pod: pod, count: i, at: int(j)})
		}
	}
	for i := range n.Pods {
		add(victimOf{pod: n.Pods[i], count: -1, at: i})
	}
	return pods
}

// withoutVictims returns the cluster without some pods of a node.
func withoutVictims(c *api.Cluster, node int, gone []victimOf) *api.Cluster {
	out := *c
	out.Nodes = slices.Clone(c.Nodes)
	n := &out.Nodes[node]
	n.PodCounts, n.Pods = slices.Clone(n.PodCounts), nil
	for i := range c.Nodes[node].Pods {
		if !slices.ContainsFunc(gone, func(v victimOf) bool { return v.count < 0 && v.at == i }) {
			n.Pods = append(n.Pods, c.Nodes[node].Pods[i])
		}
	}
	for _, v := range gone {
		if v.count >= 0 {
			n.PodCounts[v.count].Count--
		}
	}
	n.PodCounts = slices.DeleteFunc(n.PodCounts, func(p api.PodCount) bool { return p.Count == 0 })
	return &out
}

// oracle is DefaultPreemption as kube-scheduler's source describes it, on clusters that are compiled for every decision.
type oracle struct {
	t       *testing.T
	cluster *api.Cluster
	pod     *api.Pod
}

// reject returns the rejection of a node without some of its pods, nil if it takes the pod.
func (o *oracle) reject(node int, gone []victimOf) *verdict.Rejection {
	pod := *o.pod
	pod.NominatedNode = ""
	f := filterOf(o.t, withoutVictims(o.cluster, node, gone), &pod, engine.FilterOptions{Candidates: []uint32{uint32(node)}})
	if len(f.Feasible) > 0 {
		return nil
	}
	return &f.Rejections[0]
}

// moreImportant is MoreImportantVictim, with the rule for ties.
func moreImportant(a, b victimOf) int {
	return cmp.Or(cmp.Compare(b.pod.Template.Spec.Priority, a.pod.Template.Spec.Priority),
		cmp.Compare(a.start(), b.start()), cmp.Compare(a.order, b.order))
}

// violating is FilterVictimsWithPDBViolation.
func (o *oracle) violating(victims []victimOf) (violating, others []victimOf) {
	allowed := make([]int32, len(o.cluster.Budgets))
	for i, b := range o.cluster.Budgets {
		allowed[i] = b.DisruptionsAllowed
	}
	for _, v := range victims {
		violates := false
		labels := v.pod.Template.Labels.With(v.pod.Labels)
		for i, b := range o.cluster.Budgets {
			if len(labels) == 0 || b.Namespace != v.pod.Template.Namespace || b.Selector == nil || len(b.Selector.MatchLabels) == 0 ||
				slices.ContainsFunc(b.Selector.MatchLabels, func(l api.Label) bool { return !slices.Contains(labels, l) }) ||
				slices.Contains(b.Disrupted, v.pod.Name) {
				continue
			}
			if allowed[i]--; allowed[i] < 0 {
				violates = true
				break
			}
		}
		if violates {
			violating = append(violating, v)
		} else {
			others = append(others, v)
		}
	}
	return violating, others
}

// candidate is SelectVictimsOnNode.
func (o *oracle) candidate(node int) (victims []victimOf, violations int, rejected *verdict.Rejection) {
	potential := slices.DeleteFunc(podsOf(o.cluster, node), func(v victimOf) bool {
		return v.pod.Template.Spec.Priority >= o.pod.Template.Spec.Priority
	})
	if len(potential) == 0 {
		return nil, 0, &verdict.Rejection{
			Plugin: verdict.DefaultPreemption, Code: verdict.UnschedulableAndUnresolvable,
			Reasons: []verdict.Reason{{
				Type: verdict.ReasonNoVictims, Message: "No preemption victims found for incoming pod",
			}},
		}
	}
	if rejected := o.reject(node, potential); rejected != nil {
		return nil, 0, rejected
	}
	slices.SortStableFunc(potential, moreImportant)
	gone := slices.Clone(potential)
	reprieve := func(v victimOf) bool {
		without := slices.DeleteFunc(slices.Clone(gone), func(other victimOf) bool { return other.order == v.order })
		if o.reject(node, without) != nil {
			return false
		}
		gone = without
		return true
	}
	violating, others := o.violating(potential)
	for _, v := range violating {
		if !reprieve(v) {
			violations++
		}
	}
	for _, v := range others {
		reprieve(v)
	}
	return gone, violations, nil
}

// preempted is the outcome of preemption in a form that is easy to compare.
type preempted struct {
	Best       []uint32
	Message    string
	Clears     bool
	Candidates []candidateOf
	Rejected   map[uint32]string
}

type candidateOf struct {
	Node       uint32
	Violations int
	Victims    []string
}

// preempt is Preempt.
func (o *oracle) preempt() *preempted {
	f := filterOf(o.t, o.cluster, o.pod, engine.FilterOptions{})
	if len(f.Feasible) > 0 || f.Failed {
		return nil
	}
	codes := make([]verdict.Code, len(o.cluster.Nodes))
	for _, r := range f.Rejections {
		for _, n := range r.Nodes {
			codes[n] = r.Code
		}
	}
	if o.pod.Template.Spec.NeverPreempts {
		return &preempted{Message: "preemption: not eligible due to preemptionPolicy=Never."}
	}
	for i, n := range o.cluster.Nodes {
		if n.Name == o.pod.NominatedNode && codes[i] != verdict.UnschedulableAndUnresolvable {
			for _, p := range n.Pods {
				if p.Preempted && p.Template.Spec.Priority < o.pod.Template.Spec.Priority {
					return &preempted{Message: "preemption: not eligible due to a terminating pod on the nominated node."}
				}
			}
		}
	}
	out := &preempted{Rejected: make(map[uint32]string)}
	texts := make(map[string]int)
	type key [5]int64
	var best *key
	var names []string
	for i := range o.cluster.Nodes {
		rejected := &verdict.Rejection{
			Plugin: verdict.DefaultPreemption, Code: verdict.UnschedulableAndUnresolvable,
			Reasons: []verdict.Reason{{Message: "Preemption is not helpful for scheduling"}},
		}
		var victims []victimOf
		violations := 0
		if codes[i] == verdict.Unschedulable {
			victims, violations, rejected = o.candidate(i)
		}
		if rejected != nil {
			out.Rejected[uint32(i)] = rejectedText(rejected)
			for _, r := range rejected.Reasons {
				texts[r.Message]++
			}
			continue
		}
		if len(victims) == 0 {
			o.t.Fatalf("no victims on node %d", i)
		}
		slices.SortFunc(victims, moreImportant)
		c := candidateOf{Node: uint32(i), Violations: violations}
		k := key{int64(violations), int64(victims[0].pod.Template.Spec.Priority), 0, int64(len(victims)), math.MinInt64}
		for j := range victims {
			v := &victims[j]
			priority := v.pod.Template.Spec.Priority
			k[2] += int64(priority) + 1<<31
			if priority == victims[0].pod.Template.Spec.Priority {
				k[4] = max(k[4], -v.start())
			}
			c.Victims = append(c.Victims, v.text())
		}
		out.Candidates = append(out.Candidates, c)
		order := -1
		if best != nil {
			order = slices.Compare(k[:], best[:])
		}
		if order < 0 {
			best, out.Best, names = &k, nil, c.Victims
		}
		if order <= 0 {
			out.Best = append(out.Best, uint32(i))
		}
	}
	if len(out.Best) > 0 {
		out.Message = fmt.Sprintf("preemption: found a potential placement for pod on node %s, preempting %d victims",
			o.cluster.Nodes[out.Best[0]].Name, len(names))
		return out
	}
	var reasons []string
	for text, n := range texts {
		reasons = append(reasons, fmt.Sprint(n, " ", text))
	}
	slices.Sort(reasons)
	out.Clears = true
	out.Message = fmt.Sprintf("preemption: 0/%d nodes are available:", len(o.cluster.Nodes))
	for i, r := range reasons {
		if i > 0 {
			out.Message += ","
		}
		out.Message += " " + r
	}
	out.Message += "."
	return out
}

func rejectedText(r *verdict.Rejection) (text string) {
	text = fmt.Sprint(r.Plugin, " ", r.Code)
	for _, reason := range r.Reasons {
		text += ", " + reason.Message
	}
	return text
}

// asPreempted converts what the engine found. Counted victims become one text each.
func asPreempted(c *api.Cluster, p *verdict.Preemption) *preempted {
	if p == nil {
		return nil
	}
	out := &preempted{Best: p.Best, Message: p.Message, Clears: p.ClearsNomination}
	for _, r := range p.Rejections {
		if out.Rejected == nil {
			out.Rejected = make(map[uint32]string)
		}
		for _, n := range r.Nodes {
			out.Rejected[n] = rejectedText(&r)
		}
	}
	for i := range p.Candidates {
		out.Candidates = append(out.Candidates, asCandidate(c, &p.Candidates[i]))
	}
	return out
}

func asCandidate(c *api.Cluster, found *verdict.Candidate) candidateOf {
	out := candidateOf{Node: found.Node, Violations: found.Violations}
	for _, v := range found.Victims {
		if v.Name != "" {
			out.Victims = append(out.Victims, v.Name)
			continue
		}
		counts := c.Nodes[found.Node].PodCounts
		at := slices.IndexFunc(counts, func(p api.PodCount) bool { return p.Template == v.Template })
		for range v.Count {
			out.Victims = append(out.Victims, fmt.Sprint("counted ", at))
		}
	}
	return out
}
