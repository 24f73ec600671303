package answer

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/clients/answer/words"
	"github.com/stowage-scheduler/stowage/clients/fill"
	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/compact"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Effect is what an answer does to the nodes of a cluster and their pods, and what it reports of the nodes.
type Effect struct {
	// New are the names of new pods by node, Gone are pods that leave their nodes.
	New  map[string][]string
	Gone []*stowagev1.PodReference

	cluster       *stowagev1.Cluster
	before, after *fill.Nodes // after is nil if no pods move
	moves         []Move
	moved         map[kube.Origin]bool
	said          map[string]*Node // by name of a node
}

// WithNodes returns a cluster with new nodes of templates. Each is named by its template and a number.
func WithNodes(c *stowagev1.Cluster, templates []*stowagev1.NodeTemplate, names []string) *stowagev1.Cluster {
	if len(names) == 0 {
		return c
	}
	byName := map[string]*stowagev1.NodeTemplate{}
	for _, t := range templates {
		byName[t.GetNode().GetName()] = t
	}
	out := compact.Shallow(c)
	out.Nodes, out.ResourceSlices = slices.Clip(c.Nodes), slices.Clip(c.ResourceSlices)
	for _, name := range names {
		t := byName[name[:max(0, strings.LastIndexByte(name, '-'))]]
		n := &stowagev1.Node{}
		proto.Merge(n, t.GetNode())
		if n.Name = name; n.Labels == nil {
			n.Labels = map[string]string{}
		}
		for _, key := range append([]string{corev1.LabelHostname}, t.GetNameLabelKeys()...) {
			n.Labels[key] = name
		}
		out.Nodes = append(out.Nodes, n)
		for _, s := range t.GetResourceSlices() {
			s = compact.Shallow(s)
			s.Name, s.NodeName = name+"/"+s.Name, name
			if s.Pool = name + "/" + s.Pool; s.Pool == name+"/"+t.GetNode().GetName() {
				s.Pool = name
			}
			out.ResourceSlices = append(out.ResourceSlices, s)
		}
	}
	return out
}

// NewEffect returns the effect of an answer that does nothing yet.
func NewEffect(c *stowagev1.Cluster) (*Effect, error) {
	before, err := fill.Of(c)
	if err != nil {
		return nil, err
	}
	return &Effect{
		cluster: c, before: before, New: map[string][]string{}, moved: map[kube.Origin]bool{}, said: map[string]*Node{},
	}, nil
}

// Was sets the cluster before the changes of objects that the question makes.
func (e *Effect) Was(c *stowagev1.Cluster) error {
	before, err := fill.Of(c)
	if err != nil {
		return err
	}
	known := map[string]fill.Node{}
	for i, n := range c.GetNodes() {
		known[n.GetName()] = before.All[i]
	}
	e.after = e.before.Clone()
	for i, n := range e.cluster.GetNodes() {
		if earlier, ok := known[n.GetName()]; ok {
			e.before.All[i].Requested = earlier.Requested
		} else {
			e.States(Added, n.GetName())
		}
	}
	return nil
}

// States sets the state of nodes.
func (e *Effect) States(state NodeState, nodes ...string) {
	for _, name := range nodes {
		e.node(name).State = state
	}
}

// Reason says something of nodes that speaks against them.
func (e *Effect) Reason(text string, nodes ...string) {
	for _, name := range nodes {
		e.node(name).Reasons = append(e.node(name).Reasons, text)
	}
}

// Drained says whether nodes can be drained.
func (e *Effect) Drained(yes bool, nodes ...string) {
	for _, name := range nodes {
		e.node(name).Drained = &yes
	}
}

// node is what the answer says of a node.
func (e *Effect) node(name string) *Node {
	n := e.said[name]
	if n == nil {
		n = &Node{}
		e.said[name] = n
	}
	return n
}

// now is how full the nodes are so far.
func (e *Effect) now() *fill.Nodes {
	if e.after == nil {
		e.after = e.before.Clone()
	}
	return e.after
}

// Move takes pods off their node and places them on others, one on each. Without others they are gone. Pods that move on have no
// name.
func (e *Effect) Move(p *stowagev1.PodReference, to *stowagev1.NodeList) {
	e.now().Move(p, to.GetIndexes())
	who := (&words.Explanation{Cluster: e.cluster}).Who(p)
	from := e.cluster.GetNodes()[p.GetNodeIndex()].GetName()
	gone := proto.CloneOf(p)
	for gone.Name == "" && gone.Count > 0 {
		i := slices.Index(e.New[from], who)
		if i < 0 {
			break
		}
		e.New[from] = slices.Delete(e.New[from], i, i+1)
		gone.Count--
	}
	if gone.Count > 0 {
		e.Gone = append(e.Gone, gone)
	}
	e.moved[kube.Origin{Kind: "Pod", Namespace: p.GetNamespace(), Name: p.GetName()}] = true
	for _, i := range to.GetIndexes() {
		node := e.cluster.GetNodes()[i].GetName()
		e.New[node] = append(e.New[node], who)
	}
}

// Moves moves the pods of a drain.
func (e *Effect) Moves(d *stowagev1.NodeDrain) {
	if e.moves == nil {
		e.moves = []Move{}
	}
	for _, m := range d.GetMoves() {
		e.moves = append(e.moves, MoveOf(e.cluster, m))
		e.Move(m.GetPod(), m.GetNodes())
	}
}

// Add places a number of pods on a node.
func (e *Effect) Add(node uint32, pod *stowagev1.Pod, who string, pods int) {
	e.now().Add(node, pod, pods)
	e.now().Estimate(node, pod, pods)
	name := e.cluster.GetNodes()[node].GetName()
	for range pods {
		e.New[name] = append(e.New[name], who)
	}
}

// Place places pods of a queue, and takes the pods that they preempt off their nodes.
func (e *Effect) Place(s *kube.Snapshot, placements []*stowagev1.Placement, evictions []*stowagev1.Eviction) {
	for i, p := range placements {
		for _, node := range p.GetNodes().GetIndexes() {
			e.Add(node, s.Entry(i).Pods.GetPod(), s.Entry(i).Origin.Name, 1)
		}
	}
	for _, one := range evictions {
		for _, v := range one.GetVictims() {
			if _, queued := v.GetOrigin().(*stowagev1.PodReference_QueueIndex); !queued {
				e.Move(v, nil)
			}
		}
	}
}

// Disrupt takes pods off their nodes by a disruption, and places their replacements with the queue.
func (e *Effect) Disrupt(s *kube.Snapshot, d *kube.Disruption, a *stowagev1.WhatIfResponse) {
	all := a.GetPlacement().GetPlacements()
	queue, back := all[:len(all)-len(a.GetRequeued())], all[len(all)-len(a.GetRequeued()):]
	again := map[string]uint32{} // preempted pods by what they are
	key := func(p *stowagev1.PodReference) string {
		return fmt.Sprintf("%s/%s %d %d", p.GetNamespace(), p.GetName(), p.GetNodeIndex(), p.GetTemplateIndex())
	}
	for i, r := range a.GetRequeued() {
		e.Move(r.GetPod(), back[i].GetNodes())
		if r.GetPreempted() {
			again[key(r.GetPod())] += r.GetPod().GetCount()
		}
	}
	for _, p := range s.Displaced(d) {
		if !e.moved[p.Object] {
			e.Move(&stowagev1.PodReference{Namespace: p.Object.Namespace, Name: p.Object.Name, NodeIndex: new(uint32(p.Node)), Count: 1}, nil)
		}
	}
	var evictions []*stowagev1.Eviction
	for _, one := range a.GetPlacement().GetEvictions() {
		one = proto.CloneOf(one)
		one.Victims = slices.DeleteFunc(one.Victims, func(v *stowagev1.PodReference) bool {
			_, queued := v.GetOrigin().(*stowagev1.PodReference_QueueIndex)
			moved := !queued && again[key(v)] >= v.GetCount()
			if moved {
				again[key(v)] -= v.GetCount()
			}
			return moved
		})
		evictions = append(evictions, one)
	}
	e.Place(s, queue, evictions)
}

// Nodes lists the nodes with what the answer reports of them.
func (e *Effect) Nodes(key string) []Node {
	out := NodesOf(e.cluster, key, e.before, e.after)
	for i := range out {
		if n := e.said[out[i].Name]; n != nil {
			out[i].State, out[i].Drained, out[i].Reasons = n.State, n.Drained, n.Reasons
		}
	}
	return out
}

// Cluster is the cluster of the answer, with the nodes that it adds.
func (e *Effect) Cluster() *stowagev1.Cluster { return e.cluster }

// AllMoves are the moves of drains, nil if there are no drains.
func (e *Effect) AllMoves() []Move { return e.moves }
