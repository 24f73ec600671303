package board

import (
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/internal/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// Template is pods that nothing tells apart.
type Template struct {
	board *Board
	cycle *plugin.Cycle
	rules *rule.Set
	// softly are the pod's soft constraints, which score the nodes of scorable.
	softly    []podtopologyspread.Soft
	scorable  nodeset.Set
	preferred *interpodaffinity.Preferred

	// base has all nodes, in groups by cell, and may be shared. What is particular to the template is in own, which has
	// the nodes whose values are not the usual ones; nil if there cannot be any. left is the nodes of base that do not
	// count, as they are in own or cannot take the pod; of group g leftLive[g] still have room. Once most of what is
	// looked at in base is in left, own has all nodes and base is nil.
	base, own *index
	nodes     nodeset.Set // that base was made of
	left      nodeset.Set
	leftLive  []int32
	usual     []int64
	vain      int // entries of base looked at that were in left

	// By cell; nil where all are equal.
	taints, affinity, images []int64
	scored                   []bool // whether soft constraints score it

	// The topology keys of rules.Spread, of softly, of the terms of rules.Affinity, of rules.Exclusions, and of preferred.
	hard, soft, together, apart, wishes []key
	terms                               []*rule.Term // of rules.Affinity
	// togetherAt and wishesAt are values of groups, or noValue.
	togetherAt, wishesAt int

	values  []int64        // of a node at hand
	moving  []columnDomain // whose nodes a pod at hand moves
	effects []effect
	groups  int // of the state, whose effects are known
	// anyRefused says whether a group with nodes is not among the contenders, refused[cell] whether one of a cell is.
	anyRefused bool
	refused    []byte
	present    []presence // for soft constraints by value, that are not by node
}

// key is how a topology key divides nodes: into domains by cell, or, if cells is nil, by a value of the groups.
type key struct {
	column *topology.Column // nil: each node is a domain
	cells  []int32          // by cell: its domain
	value  int
}

const noValue = -1

// Template returns the template of a cycle's pod with its rules, which are compiled against the state as it is. nodes is
// those that pass PreFilter and the static rules.
func (b *Board) Template(c *plugin.Cycle, rules *rule.Set, nodes nodeset.Set) *Template {
	rules.Count()
	t := &Template{board: b, cycle: c, rules: rules, preferred: interpodaffinity.NewPreferred(c)}
	t.softly, t.scorable = podtopologyspread.NewSoft(c)
	for _, r := range rules.Spread {
		nodes = plugin.Both(nodes, r.Column.Having)
	}
	if a := rules.Affinity; a != nil {
		for i := range a.Terms {
			t.terms = append(t.terms, &a.Terms[i])
		}
	}
	cells := t.divide()
	t.addEffects()
	for i := range t.effects {
		t.effects[i].seen = len(c.State.Group(t.effects[i].group).Assumed)
	}
	r := b.resourcesOf(c, rules.Fit)
	r.catchUp(b)
	passing := b.listedOf(nodes)
	t.nodes = passing.Set
	by := shared{r, cells, &t.nodes[0]}
	t.base = b.indexes[by]
	if t.base == nil {
		t.base = newIndex(b, r, cells, passing.indexes, 0, nil)
		b.indexes[by] = t.base
		b.bytes += int64(len(b.all)) * 12
	}
	t.base.catchUp()
	if width := t.numberValues(); width > 0 || t.dropsNodes() {
		t.takeOut(width)
	}
	b.bytes += t.countBytes()
	return t
}

// Scored reports whether all that is known of the template so far is made of scores that kube-scheduler takes. Where its
// integers overflow it fails to score a pod, which Best does not tell.
func (t *Template) Scored() bool {
	return (t.base == nil || !t.base.resources.invalid) && (t.own == nil || !t.own.resources.invalid)
}

// countBytes estimates the memory of what the template has counted.
func (t *Template) countBytes() int64 {
	bytes := 256 * len(t.effects)
	for _, r := range t.rules.Spread {
		bytes += 9 * r.Column.Len()
	}
	for i := range t.softly {
		s := &t.softly[i]
		bytes += 8*len(s.PerNode) + 16*s.Slots()
	}
	for _, term := range t.terms {
		bytes += 8 * len(term.Counts)
	}
	for _, e := range t.rules.Exclusions {
		bytes += 8 * e.Domains()
	}
	for i := range t.preferred.Tallies {
		bytes += 8 * len(t.preferred.Tallies[i].ByDomain)
	}
	return int64(bytes)
}

// maxUnusual is up to which share of the nodes may be unusual for base to be of use.
const maxUnusual = 1. / 4

// takeOut puts the unusual nodes into an index of the template's own.
func (t *Template) takeOut(width int) {
	b := t.board
	occupied, unusual := t.occupied(), t.unusual()
	t.values = make([]int64, width)
	unusual.And(t.nodes)
	unusual.AndNot(occupied)
	if float64(unusual.Len()) > maxUnusual*float64(len(b.all)) {
		t.own = newIndex(b, t.base.resources, t.base.cells, t.nodes.Minus(occupied).Indexes(), width, t.valuesOf)
		t.base = nil
		b.bytes += int64(len(b.all)) * 12
	} else {
		t.own = newIndex(b, t.base.resources, t.base.cells, unusual.Indexes(), width, t.valuesOf)
		t.left, t.leftLive = nodeset.New(len(b.all)), make([]int32, len(t.base.groups))
		unusual.Or(occupied)
		for n := range unusual.All() {
			t.leave(n)
		}
		b.bytes += int64(len(b.all)) * 4
	}
	t.countPresent()
}

// leave makes a node not count in base.
func (t *Template) leave(n uint32) {
	if t.base == nil || t.left.Has(n) {
		return
	}
	t.left.Add(n)
	if g := t.base.where[n] - 1; g >= 0 {
		t.leftLive[g]++
	}
}

// absorb puts the nodes of base into own.
func (t *Template) absorb() {
	var nodes []uint32
	for _, n := range t.board.all {
		if t.live(n) {
			nodes = append(nodes, n)
		}
	}
	t.own = newIndex(t.board, t.base.resources, t.base.cells, nodes, t.own.width, t.valuesOf)
	t.base, t.left, t.leftLive = nil, nil, nil
	t.board.bytes += int64(len(t.board.all)) * 8
}

// live reports whether a node has not been found to be full, or to be ruled out for good.
func (t *Template) live(n uint32) bool {
	return t.own != nil && t.own.where[n] > 0 || t.base != nil && t.base.where[n] > 0 && !t.left.Has(n)
}

// drop takes out a node that cannot take the pod any more.
func (t *Template) drop(n uint32) {
	if !t.live(n) {
		return
	}
	t.own.drop(n)
	t.leave(n)
	t.lose(n)
}
