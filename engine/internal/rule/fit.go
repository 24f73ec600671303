package rule

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/verdict"
)

// Fit rejects the nodes with insufficient free resources. The needs of several plugins are one rule (And).
type Fit struct {
	nodes int
	needs []Need
}

// Need is a required amount of a resource.
type Need struct {
	Resource string
	Amount   int64
	// Plugin requires it.
	Plugin verdict.Plugin
	// Reason is the reason of a rejection; nil for kube-scheduler's text about a resource.
	Reason *verdict.Reason
	// words are the amounts of nodes; nil for a resource that is no lane.
	words []*cluster.Word
	lane  int
	// added is the amount that additional pods use, on any node that is decided about by itself.
	added int64
	// scalar is the column of another resource, nil if no node has it.
	scalar *cluster.Scalar
	// byDevices is set if devices serve the resource on nodes that have none of it.
	byDevices bool
	// free are the amounts that are free on nodes, for a need that no column counts.
	free []int64
}

// NeedOf returns a need of a pod of which there is a known amount on each node, and of which pods take what they need.
func NeedOf(resource string, amount int64, free []int64) Need {
	return Need{Resource: resource, Amount: amount, free: free}
}

// Each returns what a pod with a usage takes at least of the amount.
func (n *Need) Each(usage *cluster.Usage) int64 {
	if n.free != nil {
		return n.Amount
	}
	return min(n.Amount, usage.Of(n.Resource))
}

// ByDevices marks the resources that devices serve on nodes that have none of them.
func (f *Fit) ByDevices(serves func(resource string) bool) {
	for i := range f.needs {
		if n := &f.needs[i]; n.words == nil {
			n.byDevices = serves(n.Resource)
		}
	}
}

// Unbounded is more of a resource than pods need.
const Unbounded = 1 << 61

// NewFit returns the rule of a pod with the given requests. Amounts of 0 request nothing.
func NewFit(s *cluster.State, requests api.Resources) *Fit {
	r := s.Resources
	needs := append(make([]Need, 0, 1+len(requests)), Need{
		Resource: api.ResourcePods, Amount: 1, words: r.Words(), lane: cluster.Pods, Plugin: verdict.NodeResourcesFit,
		Reason: &tooManyPods,
	})
	for lane, name := range cluster.LaneNames {
		if amount, _ := requests.Get(name); amount > 0 {
			needs = append(needs, Need{
				Resource: name, Amount: amount, words: r.Words(), lane: lane, Plugin: verdict.NodeResourcesFit,
			})
		}
	}
	for _, q := range requests {
		if q.Amount > 0 && !slices.Contains(cluster.LaneNames[:], q.Resource) {
			needs = append(needs, Need{
				Resource: q.Resource, Amount: q.Amount, scalar: r.Scalars[q.Resource], Plugin: verdict.NodeResourcesFit,
			})
		}
	}
	return &Fit{nodes: s.Len(), needs: needs}
}

// NewNeed returns the rule of a plugin that the node has a free amount of a resource.
func NewNeed(s *cluster.State, by verdict.Plugin, reason verdict.Reason, q api.Quantity) *Fit {
	f := NewFit(s, api.Resources{q})
	need := &f.needs[len(f.needs)-1]
	need.Plugin, need.Reason = by, &reason
	f.needs = f.needs[1:] // without the need for room for a pod
	return f
}

var tooManyPods = verdict.ReasonOf(verdict.ReasonTooManyPods)

// And returns the rule that requires what both do. nil requires nothing.
func (f *Fit) And(other *Fit) *Fit {
	if f == nil || other == nil {
		return cmp.Or(f, other)
	}
	return &Fit{nodes: f.nodes, needs: slices.Concat(f.needs, other.needs)}
}

// Needs returns the required amounts: room for one pod, and the resources that the pod requests, in kube-scheduler's
// order, scalars by name. There are none without a rule. They must not be changed.
func (f *Fit) Needs() []Need {
	if f == nil {
		return nil
	}
	return f.needs
}

// Key is equal for rules whose needs by plugins other than NodeResourcesFit are equal.
func (f *Fit) Key() string {
	var b []byte
	for _, n := range f.Needs() {
		if n.Plugin != verdict.NodeResourcesFit {
			b = binary.AppendVarint(append(binary.AppendUvarint(b, uint64(len(n.Resource))), n.Resource...), n.Amount)
		}
	}
	return string(b)
}

// With returns the rule with additional pods, for decisions about the one node that they are on.
func (f *Fit) With(pods []cluster.Nominated) *Fit {
	more := make(Vector, len(f.needs))
	for i := range more {
		for j := range pods {
			more[i] += pods[j].Usage.Of(f.needs[i].Resource)
		}
	}
	return f.with(more)
}

// with returns the rule with additional amounts by need, for decisions about the one node that they are on.
func (f *Fit) with(more Vector) *Fit {
	with := &Fit{nodes: f.nodes, needs: slices.Clone(f.needs)}
	for i := range with.needs {
		with.needs[i].added += more.at(i)
	}
	return with
}

// fullWith reports whether a node is without room with additional amounts by need.
func (f *Fit) fullWith(node uint32, more Vector) bool {
	for i := range f.needs {
		if need := &f.needs[i]; need.Amount > need.Room(node)-more.at(i) {
			return true
		}
	}
	return false
}

// Room returns the free amount on a node.
func (n *Need) Room(node uint32) int64 {
	allocatable, used := n.on(node)
	return allocatable - used
}

// Allocatable returns the allocatable amount on a node.
func (n *Need) Allocatable(node uint32) int64 {
	allocatable, _ := n.on(node)
	return allocatable
}

func (n *Need) on(node uint32) (allocatable, used int64) {
	if n.free != nil {
		return n.free[node], n.added
	}
	if n.words != nil {
		w := n.words[node/cluster.PageNodes]
		return w.At(node, cluster.Allocatable(n.lane)), w.At(node, cluster.Requested(n.lane)) + n.added
	}
	i, ok := n.scalar.Find(node)
	if n.byDevices && (!ok || n.scalar.Values[i].Allocatable == 0) {
		return Unbounded, n.added
	}
	if ok {
		return n.scalar.Values[i].Allocatable, n.scalar.Values[i].Requested + n.added
	}
	return 0, n.added
}

// Unresolvable reports whether no pod that leaves a node can meet a need there, by its index in Needs.
func (f *Fit) Unresolvable(need int, n uint32) bool {
	return f.needs[need].beyond(n)
}

// code returns the code of the rejection of a node with additional amounts by need.
func (f *Fit) code(n uint32, more Vector) verdict.Code {
	for i := range f.shortages(n, more) {
		if f.Unresolvable(i, n) {
			return verdict.UnschedulableAndUnresolvable
		}
	}
	return verdict.Unschedulable
}

// sparse is the ratio of all nodes to given nodes from which on the given nodes are checked one by one.
const sparse = 16

func (f *Fit) fullOf(in nodeset.Set) nodeset.Set {
	if in.Len()*sparse > f.nodes {
		full := f.Full()
		full.And(in)
		return full
	}
	full := nodeset.New(f.nodes)
	for n := range in.All() {
		if f.FullOn(n) {
			full.Add(n)
		}
	}
	return full
}

// Full returns the nodes without room.
func (f *Fit) Full() nodeset.Set {
	full := nodeset.New(f.nodes)
	for i := range f.needs {
		f.needs[i].lack(f.nodes, full)
	}
	return full.Cut(f.nodes)
}

// FullOn reports whether a node is without room.
func (f *Fit) FullOn(n uint32) bool {
	for i := range f.needs {
		if need := &f.needs[i]; need.Amount > need.Room(n) {
			return true
		}
	}
	return false
}

// shortages iterates over the missing resources of a node with additional amounts by need, by the index of the need.
func (f *Fit) shortages(n uint32, more Vector) iter.Seq2[int, verdict.ResourceShortage] {
	return func(yield func(int, verdict.ResourceShortage) bool) {
		for i := range f.needs {
			need := &f.needs[i]
			allocatable, used := need.on(n)
			if used += more.at(i); need.Amount > allocatable-used && !yield(i, verdict.ResourceShortage{
				Node: n, Resource: need.Resource, Requested: need.Amount, Used: used, Allocatable: allocatable,
			}) {
				return
			}
		}
	}
}

// Shortages returns the missing resources node by node, at most verdict.MaxDetails.
func (f *Fit) Shortages(in nodeset.Set) []verdict.ResourceShortage {
	var out []verdict.ResourceShortage
	for n := range in.All() {
		for _, s := range f.shortages(n, nil) {
			if len(out) == verdict.MaxDetails {
				return out
			}
			out = append(out, s)
		}
	}
	return out
}

func (f *Fit) reasons(n uint32, more Vector) []verdict.Reason {
	var out []verdict.Reason
	for i, s := range f.shortages(n, more) {
		if own := f.needs[i].Reason; own != nil {
			out = append(out, *own)
		} else {
			out = append(out, verdict.InsufficientResource(s.Resource))
		}
	}
	return out
}
