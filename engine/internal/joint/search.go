package joint

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// Budget limits the steps of a search. The search also stops when the context ends. A step tries one pod in one place.
// Callers can spend steps, too.
type Budget struct {
	Context context.Context
	Limit   int
	Steps   int // spent so far
}

// Spend spends steps. It returns false if the budget is exhausted.
func (b *Budget) Spend(steps int) bool {
	if b.Exhausted() {
		return false
	}
	b.Steps += steps
	return true
}

// Exhausted reports whether no steps are left or the context has ended.
func (b *Budget) Exhausted() bool { return b.Steps >= b.Limit || b.Context.Err() != nil }

// Search finds a placement that satisfies all rules except for the dropped ones; nil if it finds none. order is the nodes
// in order of preference: of equivalent nodes, the search takes the first. known is false if the search exceeded its
// budget, so that a placement may exist.
func (g *Group) Search(order []uint32, dropped []bool, budget *Budget) (assigned []Assignment, known bool) {
	if slices.Contains(dropped, true) {
		g = g.without(dropped)
	}
	m := newModel(g, order)
	for _, relaxed := range m.relaxations() {
		part := *budget
		part.Limit = budget.Steps + (budget.Limit-budget.Steps)/8
		assigned, known := newModel(relaxed, order).solve(&part)
		budget.Steps = part.Steps
		if assigned == nil && known {
			return nil, true
		}
	}
	return m.solve(budget)
}

// relaxations returns the group without the rules on some keys. With fewer keys there are fewer cells, and the search
// proves sooner that no placement exists. Keys are sorted by their number of domains; each relaxation keeps one more.
func (m *model) relaxations() []*Group {
	var keys []*key
	for i := range m.keys {
		if k := &m.keys[i]; !k.single {
			keys = append(keys, k)
		}
	}
	slices.SortStableFunc(keys, func(a, b *key) int { return cmp.Compare(a.column.Len(), b.column.Len()) })
	var relaxed []*Group
	for kept := 1; kept < len(keys); kept++ {
		dropped := make([]bool, len(m.Rules))
		for i, r := range m.Rules {
			dropped[i] = m.dropped != nil && m.dropped[i] ||
				slices.ContainsFunc(keys[kept:], func(k *key) bool { return k.name == r.TopologyKey })
		}
		relaxed = append(relaxed, m.without(dropped))
	}
	return relaxed
}

func (m *model) solve(budget *Budget) (assigned []Assignment, known bool) {
	components := m.components()
	if len(components) > 1 {
		// A component without the others has at least as much room. If it has no placement, the group has none.
		for _, component := range components {
			if !newSearch(m, component, budget).place() {
				return nil, !budget.Exhausted()
			}
		}
	}
	s := newSearch(m, slices.Concat(components...), budget)
	if s.place() {
		return s.assignments(), true
	}
	return nil, !budget.Exhausted()
}

// components divides the replicas so that no rule connects two components, apart from rules about single nodes.
func (m *model) components() [][]int {
	of := make([]int, len(m.replicas)) // the first replicas of each one's component
	for i := range of {
		of[i] = i
	}
	join := func(i int, others []bool) {
		for j, connected := range others {
			if a, b := of[i], of[j]; connected && a != b {
				for r := range of {
					if of[r] == a || of[r] == b {
						of[r] = min(a, b)
					}
				}
			}
		}
	}
	for i := range m.replicas {
		for j := range m.replicas[i].exclusions {
			if e := &m.replicas[i].exclusions[j]; e.Column != nil {
				join(i, e.excludes)
			}
		}
	}
	for i := range m.terms {
		join(m.terms[i].replicas, m.terms[i].matches)
	}
	for i := range m.spread {
		join(m.spread[i].replicas, m.spread[i].matches)
	}
	for i := range m.others {
		o := &m.others[i]
		counts := make([]bool, len(of))
		for r, weight := range o.weights {
			counts[r] = weighs(weight)
		}
		join(o.replicas, counts)
	}
	components := make([][]int, len(of))
	for i, first := range of {
		components[first] = append(components[first], i)
	}
	return slices.DeleteFunc(components, func(component []int) bool { return len(component) == 0 })
}

// search assigns pods to cells.
type search struct {
	*model
	budget *Budget

	total int     // number of pods to assign
	left  []int   // the same by replicas
	in    [][]int // pods by cell, by replicas; nil for a cell that never had any
	used  []int   // cells with pods, in the order in which they got them
	tried [][]int // by replicas, by cell: positive if all such placements have been tried

	touched    [][]int32        // pods by key, by domain; nil for a single key
	excluding  [][][]int32      // by replicas, by key, by domain: pods that exclude these; nil for none
	affinities []*rule.Affinity // by replicas; nil without terms. Under a single key no domain's count means anything
	spreads    []*rule.Spread   // nil for a single key
	counted    []rule.Kind      // by others; nil for a single key

	packed map[string]*packing // cache of packing; nil for pods that do not fit
	now    []*packing          // by cell; nil without pods
	final  []*packing          // of used cells, when all pods are assigned
}

// newSearch returns a search for some replicas.
func newSearch(m *model, of []int, budget *Budget) *search {
	n := len(m.replicas)
	s := &search{
		model:      m,
		budget:     budget,
		left:       make([]int, n),
		in:         make([][]int, len(m.cells)),
		tried:      make([][]int, n),
		touched:    make([][]int32, len(m.keys)),
		excluding:  make([][][]int32, n),
		affinities: make([]*rule.Affinity, n),
		spreads:    make([]*rule.Spread, len(m.spread)),
		counted:    make([]rule.Kind, len(m.others)),
		packed:     make(map[string]*packing),
		now:        make([]*packing, len(m.cells)),
	}
	for k := range m.keys {
		s.touched[k] = m.perDomain(k)
	}
	for i := range m.terms {
		if t := &m.terms[i]; s.affinities[t.replicas] == nil {
			s.affinities[t.replicas] = t.Fork()
		}
	}
	for i := range m.spread {
		if constraint := &m.spread[i]; !m.keys[constraint.key].single {
			s.spreads[i] = constraint.Fork()
		}
	}
	for i := range m.others {
		if o := &m.others[i]; !m.keys[o.key].single {
			s.counted[i] = o.Fork()
		}
	}
	for _, r := range of {
		s.left[r] = m.replicas[r].count
		s.total += s.left[r]
	}
	for r := range n {
		s.tried[r] = make([]int, len(m.cells))
		s.excluding[r] = make([][]int32, len(m.keys))
		for _, k := range slices.Concat(m.exclusive[r]...) {
			if s.excluding[r][k] == nil {
				s.excluding[r][k] = m.perDomain(k)
			}
		}
	}
	return s
}

// perDomain returns numbers by domain of a key; nil for a single key.
func (m *model) perDomain(k int) []int32 {
	if m.keys[k].single {
		return nil
	}
	return make([]int32, m.keys[k].column.Len())
}

// place assigns the pods that are left and reports whether it did.
func (s *search) place() bool {
	if s.total == 0 {
		return s.complete()
	}
	r, options := s.next()
	if r < 0 {
		return false
	}
	tried := 0
	done := false
	for _, o := range options {
		if done = s.try(r, o.cells[0]); done || s.budget.Exhausted() {
			break
		}
		// No placement of the remaining pods has such a pod in any of these cells: the pods are equal, and the cells are
		// equivalent.
		s.markTried(r, o.cells, 1)
		tried++
	}
	for _, o := range options[:tried] {
		s.markTried(r, o.cells, -1)
	}
	return done
}

func (s *search) markTried(r int, cells []int, by int) {
	for _, c := range cells {
		s.tried[r][c] += by
	}
}

func (s *search) try(r, c int) bool {
	if !s.budget.Spend(1) {
		return false
	}
	before := s.now[c]
	s.add(r, c, 1)
	s.now[c] = s.pack(c, r, before)
	if s.now[c] != nil && s.tenable() && s.place() {
		return true
	}
	s.add(r, c, -1)
	s.now[c] = before
	return false
}

// add assigns a pod to a cell, or with -1 takes it back.
func (s *search) add(r, c int, by int) {
	cell := &s.cells[c]
	s.total -= by
	s.left[r] -= by
	if s.in[c] == nil {
		s.in[c] = make([]int, len(s.left))
	}
	if by > 0 && !slices.ContainsFunc(s.in[c], positive) {
		s.used = append(s.used, c)
	}
	s.in[c][r] += by
	if by < 0 && !slices.ContainsFunc(s.in[c], positive) {
		s.used = s.used[:len(s.used)-1]
	}
	for k, pods := range s.touched {
		if pods != nil {
			pods[cell.domains[k]] += int32(by)
		}
	}
	for other, keys := range s.exclusive[r] {
		for _, k := range keys {
			if pods := s.excluding[other][k]; pods != nil {
				pods[cell.domains[k]] += int32(by)
			}
		}
	}
	for other, a := range s.affinities {
		if a != nil && s.replicas[other].affinity.matches[r] {
			a.Add(cell.node, int64(by))
		}
	}
	for i, counted := range s.spreads {
		if counted != nil && s.spread[i].matches[r] {
			counted.Add(cell.node, int64(by))
		}
	}
	for i, counted := range s.counted {
		if weight := s.others[i].weights[r]; counted != nil && weight != 0 {
			counted.Add(cell.node, int64(by)*weight)
		}
	}
}

func positive(n int) bool { return n > 0 }

// settles reports whether any term has a single key. Packing checks such terms when all pods are assigned.
func (m *model) settles() bool {
	return slices.ContainsFunc(m.terms, func(t term) bool { return m.keys[t.key].single })
}

// complete reports whether the placement of all pods satisfies every rule.
func (s *search) complete() bool {
	settle := s.settles()
	s.final = s.final[:0]
	for _, c := range s.used {
		p := s.now[c]
		if settle {
			p = s.packing(c, true, func(p *packing) bool { return p.place(0, 0) })
		}
		if p == nil {
			return false
		}
		s.final = append(s.final, p)
	}
	return true
}

// pack packs the pods of a cell while other pods may still be unassigned; nil if they do not fit or the budget is
// exhausted. before is the packing without the last pod; nil for no pods.
func (s *search) pack(c, last int, before *packing) *packing {
	return s.packing(c, false, func(p *packing) bool { return before != nil && p.extend(before, last) || p.place(0, 0) })
}

// packing returns a packing of the pods of a cell that place completes; nil if place fails. It caches packings, and
// returns the one of equal pods. With all, all pods of the group are assigned.
func (s *search) packing(c int, all bool, place func(*packing) bool) *packing {
	b := binary.AppendUvarint([]byte{byte(count(all))}, uint64(c))
	for r, n := range s.in[c] {
		b = binary.AppendUvarint(b, uint64(n))
		b = append(b, byte(count(all && n > 0 && s.first(r, &s.cells[c], 1))))
	}
	p, ok := s.packed[string(b)]
	if !ok {
		p = s.newPacking(c, all)
		if !place(p) {
			p = nil
		}
		s.packed[string(b)] = p
	}
	return p
}

func (s *search) assignments() []Assignment {
	var assigned []Assignment
	for _, p := range s.final {
		assigned = append(assigned, p.assignments()...)
	}
	return assigned
}
