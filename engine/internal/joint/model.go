package joint

import (
	"math"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// model is a group's rules over cells of nodes.
type model struct {
	*Group
	keys   []key
	spread []spreadRule
	terms  []term // whose pods can be in the group
	others []otherRule
	cells  []cell
	// exclusive holds, by replicas, by replicas, the keys under which two pods may not share a domain.
	exclusive [][][]int
}

// key is a topology key.
type key struct {
	name   string
	column *topology.Column // nil: each node is a domain
	// single is set if no domain has more than one node for the group. Such a key does not divide the nodes into cells.
	single bool
	// equivalent numbers the domains. Equivalent domains have equal numbers: swapping them changes nothing. cells are the cells of each
	// domain. Both are nil for a single key.
	equivalent []int
	cells      [][]int
}

// spreadRule is a hard spread constraint of some replicas.
type spreadRule struct {
	*spread
	replicas int
	key      int
	// bound limits the minimum: the lowest count of the domains to which no pod that counts can go.
	bound int64
}

// own returns how many of the counted pods a pod with the constraint is itself, where nodes count or do not.
func (s *spreadRule) own(counted bool) int64 { return count(s.matches[s.replicas] && counted) }

// term is a required affinity term of some replicas.
type term struct {
	*affinity
	replicas int
	at       int // among the terms of the replicas
	key      int
}

// own returns how many of the matching pods a pod with the term is itself.
func (t *term) own() int64 { return count(t.matches[t.replicas]) }

// otherRule is an other of some replicas.
type otherRule struct {
	*other
	replicas int
	key      int
}

// own returns what a pod with the rule weighs itself.
func (o *otherRule) own() int64 { return o.weights[o.replicas] }

func count(v bool) int64 {
	if v {
		return 1
	}
	return 0
}

// newModel returns the model of a group. Order is the nodes in order of preference.
func newModel(g *Group, order []uint32) *model {
	m := &model{Group: g}
	allowed := make([]nodeset.Set, len(g.replicas))
	usable := nodeset.New(g.nodes)
	for i := range g.replicas {
		allowed[i] = g.allowed(i)
		usable.Or(allowed[i])
	}
	m.findKeys(usable)
	m.findCells(order, usable, allowed)
	for i := range m.keys {
		if !m.keys[i].single {
			m.findEquivalent(i)
		}
	}
	for i := range m.spread {
		m.findBound(i)
	}
	return m
}

// allowed returns the nodes that can take a pod if the group's other pods are not placed, or meet its affinity terms.
func (g *Group) allowed(i int) nodeset.Set {
	r := &g.replicas[i]
	set := g.candidates.Clone()
	for _, rejected := range r.limits {
		set.AndNot(rejected)
	}
	for j := range r.spread {
		set.And(r.spread[j].Column.Having)
	}
	if r.affinity != nil {
		r.affinity.restrict(set)
	}
	for j := range g.resources {
		if x := &g.resources[j]; x.required[i] {
			for node := range set.All() {
				if x.requests[i] > x.room(node) {
					set.Remove(node)
				}
			}
		}
	}
	return set
}

// restrict keeps the nodes whose domains have matching pods, or can get them from the group.
func (a *affinity) restrict(set nodeset.Set) {
	level := rule.WithMatch
	if a.inGroup() {
		level = rule.WithKey
	}
	for node := range set.All() {
		if !a.Offers(node, level) {
			set.Remove(node)
		}
	}
}

// findKeys finds the rules between pods of the group and their keys.
func (m *model) findKeys(usable nodeset.Set) {
	m.exclusive = make([][][]int, len(m.replicas))
	for i := range m.exclusive {
		m.exclusive[i] = make([][]int, len(m.replicas))
	}
	for i := range m.replicas {
		r := &m.replicas[i]
		for j := range r.exclusions {
			m.exclude(i, &r.exclusions[j], usable)
		}
		if a := r.affinity; a != nil && a.inGroup() {
			for at := range a.Terms {
				k := m.key(a.Terms[at].ID.TopologyKey, a.Terms[at].Column, usable)
				m.terms = append(m.terms, term{affinity: a, replicas: i, at: at, key: k})
			}
		}
		for j := range r.spread {
			s := &r.spread[j]
			k := m.key(s.ID.TopologyKey, s.Column, usable)
			m.spread = append(m.spread, spreadRule{spread: s, replicas: i, key: k})
			if s.HighestMinimum(m.matching(s), math.MaxInt64) > s.Minimum() {
				m.keys[k].single = false
			}
		}
		for j := range r.others {
			o := &r.others[j]
			m.others = append(m.others, otherRule{o, i, m.key(o.Rule().TopologyKey, o.Column(), usable)})
		}
	}
}

// exclude adds an exclusion of some replicas.
func (m *model) exclude(i int, e *exclusion, usable nodeset.Set) {
	for other, excluded := range e.excludes {
		if excluded {
			k := m.key(e.ID.TopologyKey, e.Column, usable)
			m.exclusive[i][other] = append(m.exclusive[i][other], k)
			m.exclusive[other][i] = append(m.exclusive[other][i], k)
		}
	}
}

func (m *model) key(name string, column *topology.Column, usable nodeset.Set) int {
	if i := slices.IndexFunc(m.keys, func(k key) bool { return k.name == name }); i >= 0 {
		return i
	}
	k := key{name: name, column: column, single: true}
	if column != nil {
		seen := make([]bool, column.Len())
		for n := range usable.All() {
			if d := column.Domain[n]; d != topology.None {
				k.single = k.single && !seen[d]
				seen[d] = true
			}
		}
	}
	m.keys = append(m.keys, k)
	return len(m.keys) - 1
}

// matching returns how many pods of the group count for a constraint.
func (m *model) matching(s *spread) int {
	pods := 0
	for i, matches := range s.matches {
		if matches {
			pods += m.replicas[i].count
		}
	}
	return pods
}

// domain returns what cell.domains holds for a node.
func (k *key) domain(n uint32) int32 {
	switch {
	case k.column == nil:
		return 1
	case k.single && k.column.Domain[n] != topology.None:
		return 1
	}
	return k.column.Domain[n]
}
