package placing

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/plugin"
	"github.com/stowage-scheduler/stowage/engine/plugin/imagelocality"
	"github.com/stowage-scheduler/stowage/engine/plugin/interpodaffinity"
	"github.com/stowage-scheduler/stowage/engine/plugin/nodeaffinity"
	"github.com/stowage-scheduler/stowage/engine/plugin/nodeports"
	"github.com/stowage-scheduler/stowage/engine/plugin/podtopologyspread"
	"github.com/stowage-scheduler/stowage/engine/plugin/tainttoleration"
	"github.com/stowage-scheduler/stowage/engine/topology"
)

// Template is pods that nothing tells apart.
type Template struct {
	board  *Board
	cycle  *plugin.Cycle
	spread *podtopologyspread.Rules
	pods   *interpodaffinity.Rules

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

	hard, soft, together, apart, wishes []key
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
	column *topology.Column
	cells  []int32 // by cell: its domain
	value  int
}

const noValue = -1

type columnDomain struct {
	column *topology.Column
	domain int32
}

// effect is what changes for a template with each pod of a group of the state.
type effect struct {
	group, seen int // of its pods so many are taken in
	ports       bool
	spread      podtopologyspread.Effect
	pods        interpodaffinity.Effect
}

// presence counts, for a soft constraint by value, the nodes that may take the pod.
type presence struct {
	soft  *podtopologyspread.Soft
	nodes []int32 // by slot
	slots int     // that have any
	// remaining is how many slots are left without the nodes of some cells, as long as no node is lost.
	remaining map[string]int
}

// Template returns the template of a cycle's pod. nodes is those that pass every filter that no other pod has a say in,
// but for their resources, and host ports as of now.
func (b *Board) Template(c *plugin.Cycle, nodes nodeset.Set) *Template {
	t := &Template{board: b, cycle: c, spread: podtopologyspread.NewRules(c), pods: interpodaffinity.NewRules(c)}
	nodes = plugin.Both(nodes, t.spread.Keys)
	cells := t.divide()
	t.addEffects()
	for i := range t.effects {
		t.effects[i].seen = len(c.State.Group(t.effects[i].group).Assumed)
	}
	r := b.resourcesOf(c)
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

// countBytes estimates the memory of what the template has counted.
func (t *Template) countBytes() int64 {
	bytes := 256 * len(t.effects)
	for i := range t.spread.Hard {
		bytes += 9 * t.spread.Hard[i].Column().Len()
	}
	for i := range t.spread.Soft {
		s := &t.spread.Soft[i]
		bytes += 8*len(s.PerNode) + 16*s.Slots()
	}
	for _, tallies := range [][]interpodaffinity.Tally{t.pods.Affinity, t.pods.Apart, t.pods.Wishes} {
		for i := range tallies {
			bytes += 8 * len(tallies[i].ByDomain)
		}
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

// divide divides the nodes into cells by all that is the same for the nodes of a cell.
func (t *Template) divide() *partition {
	b, c := t.board, t.cycle
	cells := b.whole
	by := func(column *topology.Column) key {
		if b.few(column.Len(), len(b.all)) {
			cells = b.divide(cells, column.Domain, column.Len())
		}
		return key{column: column}
	}
	for i := range t.spread.Hard {
		t.hard = append(t.hard, by(t.spread.Hard[i].Column()))
	}
	for i := range t.spread.Soft {
		if s := &t.spread.Soft[i]; s.PerNode != nil {
			t.soft = append(t.soft, key{column: s.Column()})
		} else {
			t.soft = append(t.soft, by(s.Column()))
		}
	}
	for _, of := range []struct {
		tallies []interpodaffinity.Tally
		keys    *[]key
	}{{t.pods.Affinity, &t.together}, {t.pods.Apart, &t.apart}, {t.pods.Wishes, &t.wishes}} {
		for i := range of.tallies {
			*of.keys = append(*of.keys, by(of.tallies[i].Column))
		}
	}
	// static divides by a score that never changes, and returns it; nil if it is the same for all nodes.
	static := func(scores []int64) []int64 {
		if scores == nil {
			return nil
		}
		numbers, limit := dense(scores)
		if numbers == nil {
			return nil
		}
		cells = b.divide(cells, numbers, limit)
		return slices.Clone(scores)
	}
	untolerated := tainttoleration.UntoleratedPreferences(c)
	taints := static(byNode(c, untolerated))
	affinity := static(nodeaffinity.Weights(c, b.all))
	images := static(imagelocality.ByNode(c))
	if len(t.soft) > 0 && !t.spread.Scored.Full(len(b.all)) {
		scored := make([]int32, len(b.all))
		for n := range t.spread.Scored.All() {
			scored[n] = 1
		}
		cells = b.divide(cells, scored, 2)
	}
	t.refused = make([]byte, len(cells.first))
	t.taints, t.affinity, t.images = byCell(cells, taints), byCell(cells, affinity), byCell(cells, images)
	for _, n := range cells.first {
		t.scored = append(t.scored, t.spread.Scored.Has(n))
	}
	domains := make(map[*topology.Column][]int32)
	for _, keys := range [][]key{t.hard, t.soft, t.together, t.apart, t.wishes} {
		for i := range keys {
			k := &keys[i]
			if !b.few(k.column.Len(), len(b.all)) {
				continue
			}
			of := domains[k.column]
			if of == nil {
				for _, n := range cells.first {
					of = append(of, k.column.Domain[n])
				}
				domains[k.column] = of
			}
			k.cells = of
		}
	}
	for i := range t.spread.Soft {
		if t.spread.Soft[i].PerNode != nil {
			t.soft[i].cells = nil
		}
	}
	return cells
}

// byCell returns the cells' values of what is the same for the nodes of a cell.
func byCell(cells *partition, values []int64) []int64 {
	if values == nil {
		return nil
	}
	of := make([]int64, len(cells.first))
	for i, n := range cells.first {
		of[i] = values[n]
	}
	return of
}

// byNode returns the nodes' numbers of taints; nil if all are equal.
func byNode(c *plugin.Cycle, byClass []int64) []int64 {
	equal := true
	for _, v := range byClass {
		equal = equal && v == byClass[0]
	}
	if equal {
		return nil
	}
	values := make([]int64, c.State.Len())
	for n, class := range c.State.Taints.Class {
		values[n] = byClass[class]
	}
	return values
}

// numberValues gives values of groups to what is told apart by value, and returns how many there are.
func (t *Template) numberValues() int {
	width := 0
	next := func(usual int64) int {
		width++
		t.usual = append(t.usual, usual)
		return width - 1
	}
	for _, keys := range [][]key{t.hard, t.soft} {
		for i := range keys {
			if keys[i].cells == nil {
				keys[i].value = next(0)
			}
		}
	}
	t.togetherAt, t.wishesAt = noValue, noValue
	for i := range t.together {
		if t.together[i].cells == nil && t.togetherAt == noValue {
			t.togetherAt = next(withKeys)
		}
	}
	for i := range t.wishes {
		if t.wishes[i].cells == nil && t.wishesAt == noValue {
			t.wishesAt = next(0)
		}
	}
	return width
}

// What a group says of required affinity by value.
const (
	without   = iota // its nodes lack a key
	withKeys         // they have the keys
	withMatch        // their domains have matching pods
)

// valuesOf tells the values that groups are told apart by.
func (t *Template) valuesOf(n uint32, to []int64) {
	for i := range t.hard {
		if k := &t.hard[i]; k.cells == nil {
			to[k.value] = t.spread.Hard[i].Count(k.column.Domain[n])
		}
	}
	for i := range t.soft {
		k, s := &t.soft[i], &t.spread.Soft[i]
		switch d := k.column.Domain[n]; {
		case k.cells != nil:
		case d == topology.None:
			to[k.value] = -1
		case s.PerNode != nil:
			to[k.value] = s.PerNode[n]
		default:
			to[k.value] = s.Count(d)
		}
	}
	if t.togetherAt != noValue {
		to[t.togetherAt] = withMatch
		for i := range t.together {
			if k := &t.together[i]; k.cells == nil {
				to[t.togetherAt] = min(to[t.togetherAt], match(&t.pods.Affinity[i], k.column.Domain[n]))
			}
		}
	}
	if t.wishesAt != noValue {
		to[t.wishesAt] = 0
		for i := range t.wishes {
			if k := &t.wishes[i]; k.cells == nil {
				to[t.wishesAt] += t.pods.Wishes[i].ByDomain[k.column.Domain[n]]
			}
		}
	}
}

// match returns what a domain says of required affinity.
func match(tally *interpodaffinity.Tally, domain int32) int64 {
	switch {
	case domain == topology.None:
		return without
	case tally.ByDomain[domain] > 0:
		return withMatch
	}
	return withKeys
}

// addEffects finds what pods of groups that were added since change, and reports whether the template can take that in.
func (t *Template) addEffects() bool {
	s := t.cycle.State
	first, last := s.Added()
	for i := max(first, t.groups); i < last; i++ {
		g := s.Group(i)
		e := effect{
			group:  i,
			ports:  len(t.cycle.Pod.HostPorts) > 0 && nodeports.Clash(t.cycle.Pod.HostPorts, g.HostPorts),
			spread: t.spread.Effect(t.cycle, g),
			pods:   t.pods.Effect(g),
		}
		if e.pods.Unknown {
			return false
		}
		if e.ports || len(e.spread.Hard)+len(e.spread.Soft)+len(e.pods.Apart) > 0 || e.pods.Affinity || e.pods.Wishes != nil {
			t.effects = append(t.effects, e)
		}
	}
	t.groups = last
	return true
}

// Outdated reports whether pods of a kind that was not expected were placed, and the template has to be made anew.
func (t *Template) Outdated() bool { return !t.addEffects() }

// dropsNodes reports whether pods to come may take nodes away from the pod other than by taking resources: a pod with host
// ports is among those that take them.
func (t *Template) dropsNodes() bool {
	for i := range t.apart {
		if t.apart[i].cells == nil {
			return true
		}
	}
	for i := range t.effects {
		if t.effects[i].ports {
			return true
		}
	}
	return false
}

// occupied returns the nodes in domains, told apart by value, that the pod must stay out of.
func (t *Template) occupied() nodeset.Set {
	nodes := nodeset.New(len(t.board.all))
	for i := range t.apart {
		if k := &t.apart[i]; k.cells == nil {
			nodes.Or(where(k.column, t.pods.Apart[i].ByDomain))
		}
	}
	return nodes
}

// unusual returns the nodes that may have other values than the usual ones.
func (t *Template) unusual() nodeset.Set {
	nodes := nodeset.New(len(t.board.all))
	count := func(k *key, byDomain []int64) {
		if k.cells == nil {
			nodes.Or(where(k.column, byDomain))
		}
	}
	lacking := func(k *key) {
		if k.cells == nil && !k.column.Having.Full(len(t.board.all)) {
			nodes.Or(nodeset.Full(len(t.board.all)).Minus(k.column.Having))
		}
	}
	for i := range t.hard {
		count(&t.hard[i], t.spread.Hard[i].Counts())
	}
	for i := range t.soft {
		lacking(&t.soft[i])
		if s := &t.spread.Soft[i]; s.PerNode != nil {
			for n, count := range s.PerNode {
				if count != 0 {
					nodes.Add(uint32(n))
				}
			}
		} else {
			count(&t.soft[i], s.Counts())
		}
	}
	for i := range t.together {
		lacking(&t.together[i])
		count(&t.together[i], t.pods.Affinity[i].ByDomain)
	}
	for i := range t.wishes {
		count(&t.wishes[i], t.pods.Wishes[i].ByDomain)
	}
	return nodes
}

// where returns the nodes of the domains that have a count.
func where(column *topology.Column, byDomain []int64) nodeset.Set {
	table := make([]uint8, len(byDomain))
	for d, count := range byDomain {
		if count != 0 {
			table[d] = 1
		}
	}
	return column.Where(table)
}

// countPresent counts, for soft constraints by value, the nodes of each slot.
func (t *Template) countPresent() {
	for i := range t.soft {
		if s := &t.spread.Soft[i]; t.soft[i].cells == nil && s.PerNode == nil {
			t.present = append(t.present, presence{soft: s, nodes: make([]int32, s.Slots()), remaining: make(map[string]int)})
		}
	}
	if t.present == nil {
		return
	}
	for n := range t.board.all {
		if !t.live(uint32(n)) || !t.spread.Scored.Has(uint32(n)) {
			continue
		}
		for i := range t.present {
			p := &t.present[i]
			slot := p.soft.Slot(p.soft.Column().Domain[n])
			if p.nodes[slot]++; p.nodes[slot] == 1 {
				p.slots++
			}
		}
	}
}

// lose counts a node that cannot take the pod any more.
func (t *Template) lose(n uint32) {
	if t.present == nil || !t.spread.Scored.Has(n) {
		return
	}
	for i := range t.present {
		p := &t.present[i]
		slot := p.soft.Slot(p.soft.Column().Domain[n])
		if p.nodes[slot]--; p.nodes[slot] == 0 {
			p.slots--
		}
		clear(p.remaining)
	}
}

// refusedByValue reports whether of the groups of a cell some may be refused and others not.
func (t *Template) refusedByValue() bool {
	return t.togetherAt != noValue || slices.ContainsFunc(t.hard, func(k key) bool { return k.cells == nil })
}

// catchUp takes in the pods that were placed since.
func (t *Template) catchUp() {
	if t.base != nil {
		t.base.resources.catchUp(t.board)
		t.base.catchUp()
	}
	if t.own != nil {
		t.catchUpOwn()
	}
	for i := range t.effects {
		e := &t.effects[i]
		for assumed := t.cycle.State.Group(e.group).Assumed; e.seen < len(assumed); e.seen++ {
			t.add(e, assumed[e.seen])
		}
	}
}

func (t *Template) catchUpOwn() {
	r := t.own.resources
	r.catchUp(t.board)
	for _, n := range r.filled[t.own.filled:] {
		// Base may have dropped the node already.
		if t.own.where[n] > 0 || t.base != nil && t.nodes.Has(n) && !t.left.Has(n) {
			t.lose(n)
		}
		if t.base != nil && t.nodes.Has(n) && t.left.Has(n) {
			t.leftLive[t.base.hint[t.base.cells.cell[n]]-1]--
		}
	}
	t.own.catchUp()
}

// add takes in a pod on a node.
func (t *Template) add(e *effect, n uint32) {
	if e.ports {
		t.drop(n)
	}
	moves := false
	moving := t.moving[:0]
	changed := func(k *key, domain int32) {
		if k.cells == nil && !slices.Contains(moving, columnDomain{k.column, domain}) {
			moving = append(moving, columnDomain{k.column, domain})
		}
	}
	for _, i := range e.spread.Hard {
		if t.spread.Hard[i].AddPod(n) {
			changed(&t.hard[i], t.hard[i].column.Domain[n])
		}
	}
	for _, i := range e.spread.Soft {
		s := &t.spread.Soft[i]
		if !s.AddPod(n) {
			continue
		}
		if s.PerNode != nil {
			moves = true
			continue
		}
		d := s.Column().Domain[n]
		if d == topology.None {
			d = s.Column().Empty
		}
		changed(&t.soft[i], d)
	}
	if e.pods.Affinity {
		for i := range t.pods.Affinity {
			tally := &t.pods.Affinity[i]
			if tally.Column.Domain[n] == topology.None {
				continue
			}
			t.pods.Found = true
			if tally.AddPod(n, 1) == 0 {
				changed(&t.together[i], tally.Column.Domain[n])
			}
		}
	}
	for _, i := range e.pods.Apart {
		k := &t.apart[i]
		if t.pods.Apart[i].AddPod(n, 1) == 0 && k.cells == nil {
			for _, m := range t.board.membersOf(k.column).of(k.column.Domain[n]) {
				t.drop(m)
			}
		}
	}
	for i, weight := range e.pods.Wishes {
		if weight != 0 {
			t.pods.Wishes[i].AddPod(n, weight)
			changed(&t.wishes[i], t.wishes[i].column.Domain[n])
		}
	}
	if moves {
		t.move(n)
	}
	for _, m := range moving {
		for _, n := range t.board.membersOf(m.column).of(m.domain) {
			t.move(n)
		}
	}
	t.moving = moving
}

// move puts a node where its values belong now.
func (t *Template) move(n uint32) {
	if !t.live(n) {
		return
	}
	t.valuesOf(n, t.values)
	if t.own.where[n] == 0 && slices.Equal(t.values, t.usual) {
		return
	}
	t.own.move(n, t.values)
	t.leave(n)
}
