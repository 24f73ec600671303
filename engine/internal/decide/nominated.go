package decide

import (
	"cmp"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// NominatedNode returns the node that the pod is nominated to, and whether it is a candidate
// (pkg/scheduler/schedule_one.go evaluateNominatedNode, v1.37).
func (d *Decision) NominatedNode(candidates nodeset.Set) (uint32, bool) {
	if d.Pod.NominatedNode == "" {
		return 0, false
	}
	node, known := d.State.Node(d.Pod.NominatedNode)
	return node, known && candidates.Has(node)
}

// yieldsTo reports whether the pod must leave room for a nominated pod: one of no lower priority that is not the pod
// itself (pkg/scheduler/framework/runtime/framework.go addGENominatedPods, v1.37).
func (d *Decision) yieldsTo(n *cluster.Nominated) bool {
	return n.Priority >= d.Pod.Spec().Priority && !n.Is(d.Pod)
}

// YieldedOn returns the nodes with nominated pods that the pod must leave room for.
func (d *Decision) YieldedOn() nodeset.Set {
	nodes := nodeset.New(d.State.Len())
	for node, n := range d.State.Nominated() {
		if d.yieldsTo(&n) {
			nodes.Add(node)
		}
	}
	return nodes
}

// NominatedOn returns, by node, the nominated pods that the pod must leave room for.
func (d *Decision) NominatedOn(nodes nodeset.Set) map[uint32][]cluster.Nominated {
	var on map[uint32][]cluster.Nominated
	if w := d.withNominated(nodes); w != nil {
		on = make(map[uint32][]cluster.Nominated, len(w.nodes))
		for _, n := range w.nodes {
			on[n.node] = n.pods
		}
	}
	return on
}

// Rejected returns the nodes that a plugin with the given rules rejects in either pass; nil if there are none.
func (d *Decision) Rejected(p *plugin.Plugin, rules *rule.Set, in nodeset.Set) nodeset.Set {
	rejected := rules.Rejected(in)
	w := d.withNominated(in)
	if w.filter(p, rules, false); w == nil || w.rejected.Empty() {
		return rejected
	}
	if rejected != nil {
		w.rejected.Or(rejected)
	}
	return w.rejected
}

// Blocked returns the nodes that all the pod's rules reject because of nominated pods. The rules may have counted pods that were
// placed after they were compiled. Nodes that they reject without nominated pods keep their value of before.
func (d *Decision) Blocked(rules *rule.Set, nodes, before nodeset.Set) nodeset.Set {
	blocked := nodeset.New(d.State.Len())
	w := d.withNominated(nodes)
	if w == nil {
		return blocked
	}
	for _, n := range w.nodes {
		with := rules
		for _, p := range d.Filters {
			if p.WithNominated != nil {
				with = cmp.Or(p.WithNominated(d.Cycle, with, n.pods), with)
			}
		}
		stays := !rules.AllowsWith(n.node, nil)
		if stays && before.Has(n.node) || !stays && !with.AllowsWith(n.node, with.VectorOfAll(nil, n.node, n.pods)) {
			blocked.Add(n.node)
		}
	}
	return blocked
}

// withNominated is the pass over nodes with the nominated pods that the pod must leave room for. The pass without them
// decides about the nodes that this one does not reject. nil is the pass over no node.
type withNominated struct {
	*Decision
	nodes      []nominatedTo
	rejected   nodeset.Set
	rejections Rejections
}

// nominatedTo is the nominated pods of a node.
type nominatedTo struct {
	node uint32
	pods []cluster.Nominated
}

// withNominated returns the pass over the nodes that have nominated pods; nil if none has.
func (d *Decision) withNominated(nodes nodeset.Set) *withNominated {
	first, last, some := nodes.Ends()
	if !some {
		return nil
	}
	var w *withNominated
	var pods []cluster.Nominated // of all nodes
	for node, n := range d.State.NominatedFrom(first, last) {
		if !nodes.Has(node) || !d.yieldsTo(&n) {
			continue
		}
		if w == nil {
			onNodes, count := d.State.CountNominated(node, last)
			pods = make([]cluster.Nominated, 0, count)
			w = &withNominated{Decision: d, nodes: make([]nominatedTo, 0, onNodes), rejected: nodeset.New(d.State.Len())}
		}
		pods = append(pods, n)
		at := len(w.nodes) - 1
		if at < 0 || w.nodes[at].node != node {
			w.nodes = append(w.nodes, nominatedTo{node: node})
			at++
		}
		of := &w.nodes[at]
		of.pods = pods[len(pods)-len(of.pods)-1 : len(pods) : len(pods)]
	}
	return w
}

// open reports whether any node may still be rejected.
func (w *withNominated) open() bool { return w != nil && w.rejected.Len() < len(w.nodes) }

// filter runs a plugin on the nodes. With all, it includes nodes that a plugin rejected before.
func (w *withNominated) filter(p *plugin.Plugin, rules *rule.Set, all bool) {
	if w == nil {
		return
	}
	var v rule.Vector
	for i := range w.nodes {
		n := &w.nodes[i]
		if !all && w.rejected.Has(n.node) {
			continue
		}
		with := rules
		if p.WithNominated != nil {
			with = cmp.Or(p.WithNominated(w.Cycle, rules, n.pods), rules)
		}
		if v = with.VectorOfAll(v, n.node, n.pods); with.AllowsWith(n.node, v) {
			continue
		}
		if r, rejected := with.RejectWith(p.Name, n.node, v); rejected {
			w.rejected.Add(n.node)
			w.rejections.Add(r)
		}
	}
}

// replace overrides the rejections of nodes that the pass rejects by the rejections of the pass.
func (w *withNominated) replace(others []verdict.Rejection) []verdict.Rejection {
	for i := range others {
		others[i].Nodes = without(others[i].Nodes, w.rejected)
	}
	all := Rejections{List: slices.DeleteFunc(others, func(r verdict.Rejection) bool { return len(r.Nodes) == 0 })}
	for _, r := range w.rejections.List {
		all.Add(r)
	}
	return all.List
}

// without removes the few nodes of a set from ascending nodes, in their memory.
func without(nodes []uint32, few nodeset.Set) []uint32 {
	rest, from := nodes[:0], 0
	for node := range few.All() {
		at, found := slices.BinarySearch(nodes[from:], node)
		if !found {
			continue
		}
		rest = append(rest, nodes[from:from+at]...)
		from += at + 1
	}
	return append(rest, nodes[from:]...)
}

// rejectionOf returns the rejection of a node.
func rejectionOf(node uint32, rejections []verdict.Rejection) *verdict.Rejection {
	i := slices.IndexFunc(rejections, func(r verdict.Rejection) bool { return slices.Contains(r.Nodes, node) })
	return &rejections[i]
}
