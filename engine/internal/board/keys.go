package board

import (
	"iter"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/cluster"
	"github.com/stowage-scheduler/stowage/engine/internal/nodeset"
	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// key is a rule that counts pods by topology domain, and how its domains divide the nodes: into cells, or by a value of
// buckets. An exclusion without cells does neither, and a rule of another kind neither: it removes the nodes of the domains that
// it rejects.
type key struct {
	column  *topology.Column // nil: each node is a domain
	cells   []int32          // by cell: its domain; nil without cells
	at      int              // index of its value in the values of a bucket
	removes bool
	whole   bool // whether it never has cells
	rejects bool // whether it rejects some values
	// rejected reports whether it rejects a node, of a key that removes nodes.
	rejected func(node uint32) bool

	groups iter.Seq2[int, *cluster.Group]       // groups with a possible weight
	weight func(g *cluster.Group) int64         // of a pod of a group
	add    func(node uint32, weight int64) bool // adds pods, and reports whether their domain changed
	value  func(node uint32) int64              // of the domain of a node
	usual  int64                                // the value of most domains
	counts func() []int64                       // by domain: not 0 where the value is unusual; nil for an exclusion
	having nodeset.Set                          // other nodes have an unusual value; nil for all nodes
}

// findKeys lists the rules of the class that count pods.
func (cl *Class) findKeys() {
	spread, exclusions, tallies := cl.rules.Spread, cl.rules.Exclusions, cl.preferred.Tallies
	others := cl.rules.Others
	cl.keys = make([]key, 0, len(spread)+len(cl.soft)+len(cl.terms)+len(exclusions)+len(others)+len(tallies))
	list := func(n int, at func(i int) key) []key {
		from := len(cl.keys)
		for i := range n {
			cl.keys = append(cl.keys, at(i))
		}
		return cl.keys[from:]
	}
	cl.spreadKeys = list(len(spread), func(i int) key {
		r := spread[i]
		return key{
			column: r.Column, rejects: true, groups: r.Pods.Groups, weight: r.Pods.Weight, counts: r.Counts,
			add: r.Add, value: func(n uint32) int64 { return r.Counts()[r.Column.Domain[n]] },
		}
	})
	cl.softKeys = list(len(cl.soft), cl.softKey)
	cl.affinityKeys = list(len(cl.terms), func(i int) key {
		t := cl.terms[i]
		return key{
			column: t.Column, rejects: true, groups: cl.rules.Affinity.Pods.Groups, weight: cl.rules.Affinity.Pods.Weight,
			counts: func() []int64 { return t.Counts }, usual: int64(rule.WithKey), having: t.Column.Having,
			add: func(n uint32, pods int64) bool {
				if i == 0 { // for all terms
					cl.rules.Affinity.Add(n, pods)
				}
				d := t.Column.Domain[n]
				return d != topology.None && (t.Counts[d] > 0) != (t.Counts[d]-pods > 0)
			},
			value: func(n uint32) int64 { return int64(t.Level(t.Column.Domain[n])) },
		}
	})
	cl.exclusionKeys = list(len(exclusions), func(i int) key { return exclusionKey(exclusions[i]) })
	list(len(others), func(i int) key {
		o := others[i]
		return key{
			column: o.Column(), removes: true, whole: true, groups: o.Groups(), weight: o.Weight, add: o.Add,
			rejected: func(n uint32) bool { return o.Excess(n, 0) > 0 },
		}
	})
	cl.preferredKeys = list(len(tallies), func(i int) key {
		t := &tallies[i]
		return key{
			column: t.Column, counts: func() []int64 { return t.ByDomain }, groups: cl.preferred.Groups,
			weight: func(g *cluster.Group) int64 {
				if weights := cl.preferred.Weights(g); weights != nil {
					return weights[i]
				}
				return 0
			},
			add:   func(n uint32, weight int64) bool { t.Add(n, weight); return true },
			value: func(n uint32) int64 { return t.ByDomain[t.Column.Domain[n]] },
		}
	})
}

func exclusionKey(e *rule.Exclusion) key {
	var rejected map[int32]bool // domains with a pod that was added, unless the rule counts
	return key{
		column: e.Column, removes: true, groups: e.Pods.Groups, weight: e.Pods.Weight,
		add: func(n uint32, weight int64) bool {
			if e.Counted() {
				return e.Add(n, weight)
			}
			d, in := e.Domain(n)
			if !in || rejected[d] {
				return false
			}
			if rejected == nil {
				rejected = map[int32]bool{}
			}
			rejected[d] = true
			return true
		},
		rejected: func(n uint32) bool {
			if e.Counted() {
				return !e.Allows(n, 0)
			}
			d, in := e.Domain(n)
			return in && rejected[d] || e.Rejected().Has(n)
		},
	}
}

// softKey returns the key of a soft constraint. Its value is -1 for nodes without the topology key.
func (cl *Class) softKey(i int) key {
	s := &cl.soft[i]
	column, pods := s.Column(), s.Pods(cl.cycle)
	k := key{
		column: column, counts: s.Counts, having: column.Having, groups: pods.Groups, weight: pods.Weight,
		add: s.AddPods,
		value: func(n uint32) int64 {
			switch d := column.Domain[n]; {
			case d == topology.None:
				return -1
			case s.PerNode != nil:
				return s.PerNode[n]
			default:
				return s.Count(d)
			}
		},
	}
	if s.PerNode != nil {
		k.column, k.counts = nil, func() []int64 { return s.PerNode }
	}
	return k
}

// domain returns the domain in which a pod on a node counts.
func (k *key) domain(node uint32) int32 {
	switch {
	case k.column == nil:
		return int32(node)
	case k.column.Domain[node] == topology.None: // soft constraints count it as the empty value
		return k.column.Empty
	}
	return k.column.Domain[node]
}

// valuesOf computes the values of a node.
func (cl *Class) valuesOf(n uint32, to []int64) {
	for i, k := range cl.valued {
		to[i] = k.value(n)
	}
}

// unusual returns the nodes whose values may differ from the usual ones.
func (cl *Class) unusual() nodeset.Set {
	all := nodeset.Full(len(cl.board.all))
	nodes := nodeset.New(len(cl.board.all))
	for _, k := range cl.valued {
		if k.having != nil {
			nodes.Or(all.Minus(k.having))
		}
		nodes.Or(k.counted())
	}
	return nodes
}

// occupied returns the nodes that exclusions without cells, and rules of other kinds, reject.
func (cl *Class) occupied() nodeset.Set {
	nodes := nodeset.New(len(cl.board.all))
	for i := range cl.exclusionKeys {
		if k := &cl.exclusionKeys[i]; k.cells == nil {
			nodes.Or(cl.rules.Exclusions[i].Rejected())
		}
	}
	for _, o := range cl.rules.Others {
		nodes.Or(o.Rejected())
	}
	return nodes
}

// counted returns the nodes of the domains with a count.
func (k *key) counted() nodeset.Set {
	counts := k.counts()
	table := make([]uint8, len(counts))
	for d, count := range counts {
		if count != 0 {
			table[d] = 1
		}
	}
	if k.column == nil {
		return nodeset.OfTable(table)
	}
	return k.column.Where(table)
}

// findEffects finds what pods add to the keys by group: of the groups that the request added, and of all if pods may leave.
func (cl *Class) findEffects() {
	s := cl.cycle.State
	weights := make([]int64, len(cl.keys))
	cl.effectOf, cl.counting = make(map[int]int32), nodeset.New(cl.position.groups)
	for _, i := range cl.countedGroups() {
		g := s.Group(i)
		for j := range cl.keys {
			weights[j] = cl.keys[j].weight(g)
		}
		if slices.ContainsFunc(weights, func(w int64) bool { return w != 0 }) {
			cl.effectOf[i] = int32(len(cl.effects))
			cl.effects = append(cl.effects, slices.Clone(weights))
			cl.counting.Add(uint32(i))
		}
	}
}

// countedGroups returns the groups of findEffects that keys may count, ascending.
func (cl *Class) countedGroups() (groups []int) {
	first, _ := cl.cycle.State.Added()
	for i := range cl.keys {
		for g := range cl.keys[i].groups {
			if g >= first || cl.revisable {
				groups = append(groups, g)
			}
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// add counts pods with weights on a node, and notes the domains whose nodes that moves.
func (cl *Class) add(weights []int64, n uint32, pods int64) {
	for i, weight := range weights {
		k := &cl.keys[i]
		if weight == 0 || !k.add(n, pods*weight) || k.cells != nil {
			continue
		}
		if in := (columnDomain{k.column, k.domain(n)}); !slices.Contains(cl.moving, in) {
			cl.moving = append(cl.moving, in)
		}
	}
}

// rejects reports whether a rule without cells rejects a node.
func (cl *Class) rejects(n uint32) bool {
	for i := range cl.keys {
		if k := &cl.keys[i]; k.removes && k.cells == nil && k.rejected(n) {
			return true
		}
	}
	return false
}

type columnDomain struct {
	column *topology.Column // nil: each node is a domain
	domain int32
}

// nodesOf returns the nodes of a domain, none of topology.None.
func (b *Board) nodesOf(in columnDomain) []uint32 {
	if in.column == nil {
		return b.all[in.domain : in.domain+1]
	}
	members := b.members[in.column]
	if members == nil {
		members = in.column.Nodes(nodeset.Full(len(b.all)))
		members[topology.None] = nil
		b.members[in.column] = members
		b.bytes += int64(len(b.all)+6*len(members)) * 4
	}
	return members[in.domain]
}
