package joint

import (
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/nodeset"
	"github.com/stowage-scheduler/stowage/engine/topology"
)

// model is a group's rules, without those that are given up, over cells of nodes.
type model struct {
	g     *Group
	given []bool // by rule: up; nil for none

	keys      []key
	evens     []evenRule
	withs     []withRule
	resources []resource
	cells     []cell
	// parted holds, by replicas, by replicas, the keys under which two pods may not share a domain.
	parted [][][]int
	clash  [][]bool // whether two pods may not share a node, whatever the keys
}

// key is a topology key.
type key struct {
	name   string
	column *topology.Column
	// single says that the key does not divide the nodes into cells, as each domain has one of those where pods may go.
	single bool
	// alike numbers the domains: those with equal numbers can be swapped, and nothing changes. cells are those of each
	// domain. Not with single.
	alike []int32
	cells [][]int
}

type evenRule struct {
	*even
	replicas int
	key      int
	// low is the minimum if the group cannot raise it.
	low int64
	// frozen is what the minimum cannot exceed, as no pod that counts may go to some domain: 0 with Floor, -1 if there is no
	// such domain.
	frozen int64
}

type withRule struct {
	*with
	replicas int
	key      int
}

// resource is a resource that pods need.
type resource struct {
	amounts []int64 // by replicas
	checked []bool  // by replicas
	room    func(uint32) int64
	sums    []int64 // what several pods may need together, ascending; nil if that is too much
	total   int64
}

// cell is the nodes that are in the same domains.
type cell struct {
	domains []int32 // by key; with a single one 1 if the nodes have it, 0 otherwise
	counted []bool  // by evens: whether the nodes' pods count
	takes   []bool  // by replicas: whether any node can take such a pod
	classes []class
}

// class is the nodes of a cell that no rule tells apart.
type class struct {
	id      int
	allowed []bool  // by replicas
	room    []int64 // by resource
	counts  []int64 // by evens of single keys: the pods that count
	met     []bool  // by withs of single keys: whether pods are there that the terms match
	nodes   []uint32
}

func (m *model) on(rule int) bool { return rule == noRule || m.given == nil || !m.given[rule] }

// model makes the model. Order is the nodes in order of preference.
func (g *Group) model(order []uint32, given []bool) *model {
	m := &model{g: g, given: given}
	m.findResources()
	allowed := make([]nodeset.Set, len(g.replicas))
	anyOne := nodeset.New(g.nodes)
	for i := range g.replicas {
		allowed[i] = m.allowed(i)
		anyOne.Or(allowed[i])
	}
	m.findKeys(anyOne)
	m.findCells(order, anyOne, allowed)
	for i := range m.keys {
		if !m.keys[i].single {
			m.findAlike(i)
		}
	}
	m.findFrozen()
	return m
}

func (m *model) findResources() {
	index := make(map[string]int)
	for i := range m.g.replicas {
		r := &m.g.replicas[i]
		for j := range r.needs {
			n := &r.needs[j]
			at, ok := index[n.Resource]
			if !ok {
				at = len(m.resources)
				index[n.Resource] = at
				m.resources = append(m.resources, resource{
					amounts: make([]int64, len(m.g.replicas)), checked: make([]bool, len(m.g.replicas)), room: n.Room,
				})
			}
			m.resources[at].amounts[i] = n.Amount
			m.resources[at].checked[i] = m.on(n.rule)
		}
	}
	m.resources = slices.DeleteFunc(m.resources, func(r resource) bool { return !slices.Contains(r.checked, true) })
	for i := range m.resources {
		m.resources[i].findSums(m.g.replicas)
	}
}

// maxSums bounds resource.sums.
const maxSums = 1024

func (x *resource) findSums(of []replicas) {
	x.sums = []int64{0}
	for i, amount := range x.amounts {
		x.total += amount * int64(of[i].count)
		for range of[i].count {
			if amount == 0 || x.sums == nil {
				break
			}
			for _, s := range x.sums {
				x.sums = append(x.sums, s+amount)
			}
			slices.Sort(x.sums)
			if x.sums = slices.Compact(x.sums); len(x.sums) > maxSums {
				x.sums = nil
			}
		}
	}
}

// usable returns which part of a node's room pods can use up. Nodes with the same are equal to the group.
func (x *resource) usable(room int64) int64 {
	if room < 0 {
		return -1
	}
	if x.sums == nil {
		return min(room, x.total)
	}
	i, found := slices.BinarySearch(x.sums, room)
	if !found {
		i--
	}
	return x.sums[i]
}

// allowed returns the nodes that can take a pod with nothing else of the group placed, or with what it wants to be with.
func (m *model) allowed(i int) nodeset.Set {
	r := &m.g.replicas[i]
	set := nodeset.Full(m.g.nodes)
	for _, l := range r.limits {
		if m.on(l.rule) {
			set.And(l.allowed)
		}
	}
	for j := range r.even {
		if e := &r.even[j]; m.on(e.rule) {
			set.And(e.Column.Having)
		}
	}
	for j := range r.with {
		w := &r.with[j]
		switch {
		case !m.on(w.rule):
		case r.helped:
			set.And(w.column.Having)
		default:
			set.And(w.column.Where(table(w.inhabited)))
		}
	}
	for j := range r.needs {
		n := &r.needs[j]
		if !m.on(n.rule) {
			continue
		}
		for node := range set.All() {
			if n.Room(node) < n.Amount {
				set.Remove(node)
			}
		}
	}
	return set
}

func table(in []bool) []uint8 {
	t := make([]uint8, len(in))
	for d, yes := range in {
		if yes {
			t[d] = 1
		}
	}
	return t
}

// findKeys finds the rules between pods of the group and the keys that they are about.
func (m *model) findKeys(anyOne nodeset.Set) {
	of := m.g.replicas
	m.parted, m.clash = make([][][]int, len(of)), make([][]bool, len(of))
	for i := range of {
		m.parted[i], m.clash[i] = make([][]int, len(of)), make([]bool, len(of))
	}
	for i := range of {
		r := &of[i]
		for j, clashes := range r.clashes {
			if clashes && m.on(r.ports) {
				m.clash[i][j], m.clash[j][i] = true, true
			}
		}
		for j := range r.apart {
			if a := &r.apart[j]; m.on(a.rule) {
				for other, from := range a.from {
					if from {
						k := m.key(a.key, a.column, anyOne)
						m.parted[i][other] = append(m.parted[i][other], k)
						m.parted[other][i] = append(m.parted[other][i], k)
					}
				}
			}
		}
		for j := range r.with {
			if w := &r.with[j]; r.helped && m.on(w.rule) {
				m.withs = append(m.withs, withRule{with: w, replicas: i, key: m.key(w.key, w.column, anyOne)})
			}
		}
		for j := range r.even {
			e := &r.even[j]
			if !m.on(e.rule) {
				continue
			}
			rule := evenRule{even: e, replicas: i, key: m.key(e.TopologyKey, e.Column, anyOne), low: e.minimum(e.Counts)}
			if !e.Floor && m.raises(&rule) {
				m.keys[rule.key].single = false
			}
			m.evens = append(m.evens, rule)
		}
	}
}

func (m *model) key(name string, column *topology.Column, anyOne nodeset.Set) int {
	if i := slices.IndexFunc(m.keys, func(k key) bool { return k.name == name }); i >= 0 {
		return i
	}
	k := key{name: name, column: column, single: true}
	seen := make([]bool, column.Len())
	for n := range anyOne.All() {
		if d := column.Domain[n]; d != topology.None {
			k.single = k.single && !seen[d]
			seen[d] = true
		}
	}
	m.keys = append(m.keys, k)
	return len(m.keys) - 1
}

// raises reports whether the group's pods are enough to raise the minimum.
func (m *model) raises(e *evenRule) bool {
	least, pods := 0, 0
	for d, present := range e.Present {
		if present && e.Counts[d] == e.low {
			least++
		}
	}
	for i, matches := range e.matches {
		if matches {
			pods += m.g.replicas[i].count
		}
	}
	return least <= pods
}

// findCells divides the nodes that any pod may go to into cells and classes.
func (m *model) findCells(order []uint32, anyOne nodeset.Set, allowed []nodeset.Set) {
	cells := make(map[string]int)
	type inCell struct{ cell, class int }
	classes := make(map[inCell]int)
	ids := make(map[string]int)
	var at, b []byte
	for _, n := range order {
		if !anyOne.Has(n) {
			continue
		}
		at = m.appendCell(at[:0], n)
		c, ok := cells[string(at)]
		if !ok {
			c = len(m.cells)
			cells[string(at)] = c
			m.cells = append(m.cells, m.cell(n))
		}
		in := &m.cells[c]
		k := m.class(n, allowed)
		b = k.appendKey(b[:0])
		id, ok := ids[string(b)]
		if !ok {
			id = len(ids)
			ids[string(b)] = id
		}
		i, ok := classes[inCell{c, id}]
		if !ok {
			i = len(in.classes)
			classes[inCell{c, id}] = i
			k.id = id
			in.classes = append(in.classes, k)
			for r, yes := range k.allowed {
				in.takes[r] = in.takes[r] || yes
			}
		}
		if known := &in.classes[i]; len(known.nodes) < m.g.pods {
			known.nodes = append(known.nodes, n)
		}
	}
}

func (m *model) appendCell(b []byte, n uint32) []byte {
	for i := range m.keys {
		b = binary.AppendUvarint(b, uint64(m.keys[i].domain(n)))
	}
	for i := range m.evens {
		b = append(b, bit(m.evens[i].Counted.Has(n)))
	}
	return b
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// domain returns what cell.domains holds for a node.
func (k *key) domain(n uint32) int32 {
	if d := k.column.Domain[n]; !k.single || d == topology.None {
		return d
	}
	return 1
}

func (m *model) cell(n uint32) cell {
	c := cell{takes: make([]bool, len(m.g.replicas))}
	for i := range m.keys {
		c.domains = append(c.domains, m.keys[i].domain(n))
	}
	for i := range m.evens {
		c.counted = append(c.counted, m.evens[i].Counted.Has(n))
	}
	return c
}

func (m *model) class(n uint32, allowed []nodeset.Set) class {
	k := class{
		allowed: make([]bool, len(allowed)),
		room:    make([]int64, len(m.resources)),
		counts:  make([]int64, len(m.evens)),
		met:     make([]bool, len(m.withs)),
	}
	for r := range allowed {
		k.allowed[r] = allowed[r].Has(n)
	}
	for i := range m.resources {
		x := &m.resources[i]
		k.room[i] = x.usable(x.room(n))
	}
	for i := range m.evens {
		if e := &m.evens[i]; m.keys[e.key].single {
			k.counts[i] = e.Counts[e.Column.Domain[n]]
		}
	}
	for i := range m.withs {
		if w := &m.withs[i]; m.keys[w.key].single {
			k.met[i] = w.inhabited[w.column.Domain[n]]
		}
	}
	return k
}

func (k *class) appendKey(b []byte) []byte {
	for _, v := range k.allowed {
		b = append(b, bit(v))
	}
	for _, v := range k.room {
		b = binary.AppendVarint(b, v)
	}
	for _, v := range k.counts {
		b = binary.AppendVarint(b, v)
	}
	for _, v := range k.met {
		b = append(b, bit(v))
	}
	return b
}

// findAlike finds the domains of a key that can be swapped: they mean the same to the rules on the key, and have equal
// nodes in equal domains of all other keys.
func (m *model) findAlike(at int) {
	k := &m.keys[at]
	parts := make([][]string, k.column.Len())
	k.cells = make([][]int, k.column.Len())
	var b []byte
	for c := range m.cells {
		in := &m.cells[c]
		b = b[:0]
		for i, d := range in.domains {
			if i != at {
				b = binary.AppendUvarint(b, uint64(d))
			}
		}
		for _, counted := range in.counted {
			b = append(b, bit(counted))
		}
		// The order of the classes does not matter.
		nodes := make([][2]int, len(in.classes))
		for i := range in.classes {
			nodes[i] = [2]int{in.classes[i].id, len(in.classes[i].nodes)}
		}
		slices.SortFunc(nodes, func(a, b [2]int) int { return a[0] - b[0] })
		b = binary.AppendUvarint(b, uint64(len(nodes)))
		for _, n := range nodes {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(n[0])), uint64(n[1]))
		}
		d := in.domains[at]
		parts[d] = append(parts[d], string(b))
		k.cells[d] = append(k.cells[d], c)
	}
	k.alike = make([]int32, len(parts))
	numbers := make(map[string]int32)
	for d := range parts {
		b = binary.AppendUvarint(b[:0], uint64(bit(d == topology.None)))
		for i := range m.evens {
			if e := &m.evens[i]; e.key == at {
				b = binary.AppendVarint(append(b, bit(e.Present[d])), e.Counts[d])
			}
		}
		for i := range m.withs {
			if w := &m.withs[i]; w.key == at {
				b = append(b, bit(w.inhabited[d]))
			}
		}
		slices.Sort(parts[d])
		for _, part := range parts[d] {
			b = append(b, part...)
		}
		number, ok := numbers[string(b)]
		if !ok {
			number = int32(len(numbers))
			numbers[string(b)] = number
		}
		k.alike[d] = number
	}
}

// findFrozen finds the bounds of constraints' minimums that no pod of the group can raise.
func (m *model) findFrozen() {
	for i := range m.evens {
		e := &m.evens[i]
		if m.keys[e.key].single || e.Floor {
			continue
		}
		reachable := make([]bool, e.Column.Len())
		for c := range m.cells {
			cell := &m.cells[c]
			for r, matches := range e.matches {
				if matches && cell.takes[r] && cell.counted[i] {
					reachable[cell.domains[e.key]] = true
				}
			}
		}
		e.frozen = -1
		for d, present := range e.Present {
			if present && !reachable[d] && (e.frozen < 0 || e.Counts[d] < e.frozen) {
				e.frozen = e.Counts[d]
			}
		}
	}
}
