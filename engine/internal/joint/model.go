package joint

import (
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
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
		for j := range r.apart {
			m.part(i, &r.apart[j], anyOne)
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
			rule := evenRule{even: e, replicas: i, key: m.key(e.ID.TopologyKey, e.Column, anyOne), low: e.minimum(e.Counts())}
			if !e.Floor() && m.raises(&rule) {
				m.keys[rule.key].single = false
			}
			m.evens = append(m.evens, rule)
		}
	}
}

// part adds an exclusion of some replicas.
func (m *model) part(i int, a *apart, anyOne nodeset.Set) {
	if !m.on(a.rule) {
		return
	}
	for other, from := range a.from {
		switch {
		case !from:
		case a.column == nil:
			m.clash[i][other], m.clash[other][i] = true, true
		default:
			k := m.key(a.key, a.column, anyOne)
			m.parted[i][other] = append(m.parted[i][other], k)
			m.parted[other][i] = append(m.parted[other][i], k)
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
	for d, present := range e.Present() {
		if present && e.Counts()[d] == e.low {
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

// domain returns what cell.domains holds for a node.
func (k *key) domain(n uint32) int32 {
	if d := k.column.Domain[n]; !k.single || d == topology.None {
		return d
	}
	return 1
}
