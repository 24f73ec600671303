package joint

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
)

// Effort is what searching may cost: so many steps, until the context ends. A step is one pod tried in one place, or
// whatever else the caller takes for one.
type Effort struct {
	Context context.Context
	Limit   int
	Steps   int // taken so far
}

// Spend takes steps, and reports whether there was enough left.
func (e *Effort) Spend(steps int) bool {
	if e.Over() {
		return false
	}
	e.Steps += steps
	return true
}

// Over reports whether nothing is left.
func (e *Effort) Over() bool { return e.Steps >= e.Limit || e.Context.Err() != nil }

// Search finds a placement that satisfies all rules but those given up, nil if there is none. Order is the nodes in order
// of preference, of which a search among equal ones takes the first. Known says whether the effort was enough to tell;
// without, nothing was found.
func (g *Group) Search(order []uint32, given []bool, effort *Effort) (spots []Spot, known bool) {
	m := g.model(order, given)
	for _, more := range m.relaxations() {
		part := *effort
		part.Limit = effort.Steps + (effort.Limit-effort.Steps)/8
		spots, known := g.model(order, more).solve(&part)
		effort.Steps = part.Steps
		if spots == nil && known {
			return nil, true
		}
	}
	return m.solve(effort)
}

// relaxations returns what else to give up so that what is left is about few cells: if that alone cannot be satisfied, it
// shows soon. One after the other leaves the rules on one key more, in ascending order of their numbers of domains.
func (m *model) relaxations() [][]bool {
	var keys []*key
	for i := range m.keys {
		if k := &m.keys[i]; !k.single {
			keys = append(keys, k)
		}
	}
	slices.SortStableFunc(keys, func(a, b *key) int { return cmp.Compare(a.column.Len(), b.column.Len()) })
	var all [][]bool
	for kept := 1; kept < len(keys); kept++ {
		given := make([]bool, len(m.g.Rules))
		copy(given, m.given)
		for i, r := range m.g.Rules {
			given[i] = given[i] || slices.ContainsFunc(keys[kept:], func(k *key) bool { return k.name == r.TopologyKey })
		}
		all = append(all, given)
	}
	return all
}

func (m *model) solve(effort *Effort) (spots []Spot, known bool) {
	parts := m.parts()
	if len(parts) > 1 {
		// Without the others a part has no less room, and nothing else changes for it. To look at it alone keeps a part that
		// has no place from being tried again with every placement of the others.
		for _, part := range parts {
			if !newSearch(m, part, effort).place() {
				return nil, !effort.Over()
			}
		}
	}
	s := newSearch(m, slices.Concat(parts...), effort)
	if s.place() {
		return s.spots(), true
	}
	return nil, !effort.Over()
}

// parts divides the replicas into parts that no rule connects but for what nodes have room for.
func (m *model) parts() [][]int {
	of := make([]int, len(m.g.replicas)) // the first replicas of each one's part
	for i := range of {
		of[i] = i
	}
	join := func(a, b int) {
		a, b = of[a], of[b]
		for i := range of {
			if of[i] == a || of[i] == b {
				of[i] = min(a, b)
			}
		}
	}
	for i := range of {
		for j := range of {
			if len(m.parted[i][j]) > 0 {
				join(i, j)
			}
		}
	}
	for i := range m.withs {
		w := &m.withs[i]
		for j, wanted := range m.g.replicas[w.replicas].wanted {
			if wanted {
				join(w.replicas, j)
			}
		}
	}
	for i := range m.evens {
		for j, matches := range m.evens[i].matches {
			if matches {
				join(m.evens[i].replicas, j)
			}
		}
	}
	parts := make([][]int, len(of))
	for i, first := range of {
		parts[first] = append(parts[first], i)
	}
	return slices.DeleteFunc(parts, func(part []int) bool { return len(part) == 0 })
}

// search is the pods in cells, so far, and what the rules look at.
type search struct {
	*model
	effort *Effort

	total int     // pods without a place
	left  []int   // the same by replicas
	in    [][]int // pods by cell, by replicas; nil for a cell that never had any
	cells []int   // that have pods, in the order in which they got them

	touched   [][]int32   // pods by key, by domain; nil for a single key
	parting   [][][]int32 // by replicas, by key, by domain: pods that may not share the domain; nil for none
	company   [][]int32   // by withs, by domain: pods that the terms match; nil for a single key
	found     []int       // by replicas: pods that match the terms, in any domain of their keys
	totals    [][]int64   // by evens, by domain; nil for a single key
	forbidden [][]int     // by replicas, by cell: as all such placements have been tried

	packed map[string]*packing // nil for what cannot be packed
	now    []*packing          // by cell; nil without pods
	final  []*packing          // of cells, when all pods are placed
}

// newSearch returns a search for a place for some replicas.
func newSearch(m *model, of []int, effort *Effort) *search {
	n := len(m.g.replicas)
	s := &search{
		model:     m,
		effort:    effort,
		left:      make([]int, n),
		in:        make([][]int, len(m.cells)),
		touched:   make([][]int32, len(m.keys)),
		parting:   make([][][]int32, n),
		company:   make([][]int32, len(m.withs)),
		found:     make([]int, n),
		totals:    make([][]int64, len(m.evens)),
		forbidden: make([][]int, n),
		packed:    make(map[string]*packing),
		now:       make([]*packing, len(m.cells)),
	}
	for k := range m.keys {
		if !m.keys[k].single {
			s.touched[k] = make([]int32, m.keys[k].column.Len())
		}
	}
	for i := range m.withs {
		if k := m.withs[i].key; !m.keys[k].single {
			s.company[i] = make([]int32, m.keys[k].column.Len())
		}
	}
	for i := range m.evens {
		if e := &m.evens[i]; !m.keys[e.key].single {
			s.totals[i] = slices.Clone(e.Counts())
		}
	}
	for _, r := range of {
		s.left[r] = m.g.replicas[r].count
		s.total += s.left[r]
		s.forbidden[r] = make([]int, len(m.cells))
		s.parting[r] = make([][]int32, len(m.keys))
		for _, keys := range m.parted[r] {
			for _, k := range keys {
				if !m.keys[k].single && s.parting[r][k] == nil {
					s.parting[r][k] = make([]int32, m.keys[k].column.Len())
				}
			}
		}
	}
	return s
}

// place places the pods that are left and reports whether it did.
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
		if done = s.try(r, o.cells[0]); done || s.effort.Over() {
			break
		}
		// No placement of what is left has such a pod in any of these cells: any of the equal pods could have been the one
		// that was tried.
		s.forbid(r, o.cells, 1)
		tried++
	}
	for _, o := range options[:tried] {
		s.forbid(r, o.cells, -1)
	}
	return done
}

func (s *search) forbid(r int, cells []int, by int) {
	for _, c := range cells {
		s.forbidden[r][c] += by
	}
}

func (s *search) try(r, c int) bool {
	if !s.effort.Spend(1) {
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

// add puts a pod into a cell or, with by -1, takes it out again.
func (s *search) add(r, c int, by int) {
	cell := &s.model.cells[c]
	s.total -= by
	s.left[r] -= by
	if s.in[c] == nil {
		s.in[c] = make([]int, len(s.left))
	}
	if by > 0 && !slices.ContainsFunc(s.in[c], positive) {
		s.cells = append(s.cells, c)
	}
	s.in[c][r] += by
	if by < 0 && !slices.ContainsFunc(s.in[c], positive) {
		s.cells = s.cells[:len(s.cells)-1]
	}
	for k, pods := range s.touched {
		if pods != nil {
			pods[cell.domains[k]] += int32(by)
		}
	}
	for other, keys := range s.parted[r] {
		for _, k := range keys {
			if pods := s.parting[other][k]; pods != nil {
				pods[cell.domains[k]] += int32(by)
			}
		}
	}
	for other := range s.g.replicas {
		if s.g.replicas[other].wanted[r] && s.keyed(other, cell) {
			s.found[other] += by
		}
	}
	for i, pods := range s.company {
		if w := &s.withs[i]; pods != nil && s.g.replicas[w.replicas].wanted[r] {
			pods[cell.domains[w.key]] += int32(by)
		}
	}
	for i, totals := range s.totals {
		if e := &s.evens[i]; totals != nil && e.matches[r] && cell.counted[i] {
			totals[cell.domains[e.key]] += int64(by)
		}
	}
}

func positive(n int) bool { return n > 0 }

// complete reports whether the placement of all pods satisfies every rule.
func (s *search) complete() bool {
	settle := slices.ContainsFunc(s.company, func(pods []int32) bool { return pods == nil })
	s.final = s.final[:0]
	for _, c := range s.cells {
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

// pack returns how the pods of a cell find nodes there, as far as can be told before all pods are placed; nil if they do
// not, or the effort is over. Before is how they did without the last one, nil if there were none.
func (s *search) pack(c, last int, before *packing) *packing {
	return s.packing(c, false, func(p *packing) bool { return before != nil && p.extend(before, last) || p.place(0, 0) })
}

// packing returns what place makes of the pods of a cell, nil if it fails, or what it once did.
func (s *search) packing(c int, all bool, place func(*packing) bool) *packing {
	b := binary.AppendUvarint([]byte{bit(all)}, uint64(c))
	for r, n := range s.in[c] {
		b = binary.AppendUvarint(b, uint64(n))
		b = append(b, bit(all && n > 0 && s.exempt(r, 1)))
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

func (s *search) spots() []Spot {
	var spots []Spot
	for _, p := range s.final {
		spots = append(spots, p.spots()...)
	}
	return spots
}
