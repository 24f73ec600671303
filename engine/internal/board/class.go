package board

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Class is the board's view of one equivalence class.
type Class struct {
	board *Board
	cycle *plugin.Cycle
	rules *rule.Set
	// soft are the soft constraints. They score the nodes of scorable.
	soft      []podtopologyspread.Soft
	scorable  nodeset.Set
	preferred *interpodaffinity.Preferred

	// base has all nodes in buckets by cell; classes may share it. own has the nodes with unusual values, of this class
	// alone; nil if no node can have any. removed are the nodes of base that are in own or infeasible, and
	// removedLive[i] of bucket i have room. When most entries that base yields are removed, absorb moves all nodes to
	// own and base becomes nil.
	base, own   *index
	nodes       nodeset.Set // of base
	removed     nodeset.Set
	removedLive []int32
	usual       []int64
	misses      int // removed entries that base yielded

	// By cell; nil if all are equal.
	taints, affinity, images []int64
	scored                   []bool // whether soft constraints score the cell

	// Topology keys of rules.Spread, soft, the terms of rules.Affinity, rules.Exclusions and preferred.
	spreadKeys, softKeys, affinityKeys, exclusionKeys, preferredKeys []key
	terms                                                            []*rule.Term // of rules.Affinity
	// affinityAt and preferredAt are indexes of values, or noValue.
	affinityAt, preferredAt int

	values     []int64        // of the current node
	moving     []columnDomain // domains whose nodes the current pod moves
	effects    []effect
	seenGroups int // groups of the state with known effects
	// anyRejected is set if a bucket with nodes is no contender; rejected[cell] if one of the cell is none.
	anyRejected bool
	rejected    []byte
	present     []presence // for soft constraints by value
}

// key is how a topology key divides nodes: into domains by cell, or by a value of buckets if cells is nil.
type key struct {
	column *topology.Column // nil: each node is a domain
	cells  []int32          // by cell: its domain
	value  int
}

const noValue = -1

// Class returns the view of a cycle's pod. The rules are compiled against the current state. nodes are those that pass
// PreFilter and the static rules.
func (b *Board) Class(c *plugin.Cycle, rules *rule.Set, nodes nodeset.Set) *Class {
	rules.Count()
	cl := &Class{board: b, cycle: c, rules: rules, preferred: interpodaffinity.NewPreferred(c)}
	cl.soft, cl.scorable = podtopologyspread.NewSoft(c)
	for _, r := range rules.Spread {
		nodes = plugin.Both(nodes, r.Column.Having)
	}
	if a := rules.Affinity; a != nil {
		for i := range a.Terms {
			cl.terms = append(cl.terms, &a.Terms[i])
		}
	}
	cells := cl.divide()
	cl.addEffects()
	for i := range cl.effects {
		cl.effects[i].seen = len(c.State.Group(cl.effects[i].group).Assumed)
	}
	r := b.resourcesOf(c, rules.Fit)
	r.catchUp(b)
	passing := b.listedOf(nodes)
	cl.nodes = passing.Set
	by := indexKey{r, cells, &cl.nodes[0]}
	cl.base = b.indexes[by]
	if cl.base == nil {
		cl.base = newIndex(b, r, cells, passing.indexes, 0, nil)
		b.indexes[by] = cl.base
		b.bytes += int64(len(b.all)) * 12
	}
	cl.base.catchUp()
	if width := cl.numberValues(); width > 0 || cl.dropsNodes() {
		cl.takeOut(width)
	}
	b.bytes += cl.countBytes()
	return cl
}

// Scored reports whether kube-scheduler accepts all scores so far. It fails to score a pod where its integers overflow,
// and Best ignores that.
func (cl *Class) Scored() bool {
	return (cl.base == nil || !cl.base.resources.invalid) && (cl.own == nil || !cl.own.resources.invalid)
}

// countBytes estimates the memory of the counts.
func (cl *Class) countBytes() int64 {
	bytes := 256 * len(cl.effects)
	for _, r := range cl.rules.Spread {
		bytes += 9 * r.Column.Len()
	}
	for i := range cl.soft {
		s := &cl.soft[i]
		bytes += 8*len(s.PerNode) + 16*s.Slots()
	}
	for _, term := range cl.terms {
		bytes += 8 * len(term.Counts)
	}
	for _, e := range cl.rules.Exclusions {
		bytes += 8 * e.Domains()
	}
	for i := range cl.preferred.Tallies {
		bytes += 8 * len(cl.preferred.Tallies[i].ByDomain)
	}
	return int64(bytes)
}

// maxUnusual is the share of unusual nodes above which base is of no use.
const maxUnusual = 1. / 4

// takeOut moves the unusual nodes to own.
func (cl *Class) takeOut(width int) {
	b := cl.board
	occupied, unusual := cl.occupied(), cl.unusual()
	cl.values = make([]int64, width)
	unusual.And(cl.nodes)
	unusual.AndNot(occupied)
	if float64(unusual.Len()) > maxUnusual*float64(len(b.all)) {
		cl.own = newIndex(b, cl.base.resources, cl.base.cells, cl.nodes.Minus(occupied).Indexes(), width, cl.valuesOf)
		cl.base = nil
		b.bytes += int64(len(b.all)) * 12
	} else {
		cl.own = newIndex(b, cl.base.resources, cl.base.cells, unusual.Indexes(), width, cl.valuesOf)
		cl.removed, cl.removedLive = nodeset.New(len(b.all)), make([]int32, len(cl.base.buckets))
		unusual.Or(occupied)
		for n := range unusual.All() {
			cl.remove(n)
		}
		b.bytes += int64(len(b.all)) * 4
	}
	cl.countPresent()
}

// remove removes a node from base.
func (cl *Class) remove(n uint32) {
	if cl.base == nil || cl.removed.Has(n) {
		return
	}
	cl.removed.Add(n)
	if g := cl.base.bucketOf[n] - 1; g >= 0 {
		cl.removedLive[g]++
	}
}

// absorb moves the nodes of base to own.
func (cl *Class) absorb() {
	var nodes []uint32
	for _, n := range cl.board.all {
		if cl.live(n) {
			nodes = append(nodes, n)
		}
	}
	cl.own = newIndex(cl.board, cl.base.resources, cl.base.cells, nodes, cl.own.width, cl.valuesOf)
	cl.base, cl.removed, cl.removedLive = nil, nil, nil
	cl.board.bytes += int64(len(cl.board.all)) * 8
}

// live reports whether a node has room and is not dropped for good.
func (cl *Class) live(n uint32) bool {
	return cl.own != nil && cl.own.bucketOf[n] > 0 || cl.base != nil && cl.base.bucketOf[n] > 0 && !cl.removed.Has(n)
}

// drop removes a node that became infeasible for good.
func (cl *Class) drop(n uint32) {
	if !cl.live(n) {
		return
	}
	cl.own.drop(n)
	cl.remove(n)
	cl.uncount(n)
}
