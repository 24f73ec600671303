package joint

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/topology"
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
	s := newSearch(g.model(order, given), effort)
	if s.place(g.pods) {
		return s.spots(), true
	}
	return nil, !effort.Over()
}

// search is the pods in cells, so far, and what the rules look at.
type search struct {
	*model
	effort *Effort

	left  []int   // pods without a place, by replicas
	in    [][]int // pods by cell, by replicas; nil for a cell that never had any
	cells []int   // that have pods, in the order in which they got them

	touched   [][]int32   // pods by key, by domain; nil for a single key
	parting   [][][]int32 // by replicas, by key, by domain: pods that may not share the domain; nil for none
	company   [][]int32   // by withs, by domain: pods that the terms match; nil for a single key
	found     []int       // by replicas: pods that match the terms, in any domain of their keys
	totals    [][]int64   // by evens, by domain; nil for a single key
	forbidden [][]int     // by replicas, by cell: as all such placements have been tried

	packed map[string]*packing // nil for what cannot be packed
}

func newSearch(m *model, effort *Effort) *search {
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
			s.totals[i] = slices.Clone(e.Counts)
		}
	}
	for r := range n {
		s.left[r] = m.g.replicas[r].count
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
func (s *search) place(left int) bool {
	if left == 0 {
		return s.complete()
	}
	r, options := s.next()
	if r < 0 {
		return false
	}
	tried := 0
	done := false
	for _, cells := range options {
		if done = s.try(r, cells[0], left); done || s.effort.Over() {
			break
		}
		// No placement of what is left has such a pod in any of these cells: any of the equal pods could have been the one
		// that was tried.
		s.forbid(r, cells, 1)
		tried++
	}
	for _, cells := range options[:tried] {
		s.forbid(r, cells, -1)
	}
	return done
}

func (s *search) forbid(r int, cells []int, by int) {
	for _, c := range cells {
		s.forbidden[r][c] += by
	}
}

func (s *search) try(r, c, left int) bool {
	if !s.effort.Spend(1) {
		return false
	}
	s.add(r, c, 1)
	if s.tenable(false) && s.pack(c, false) != nil && s.place(left-1) {
		return true
	}
	s.add(r, c, -1)
	return false
}

// next returns the replicas with the fewest places for a pod, and these places, the best first: cells that are equal to
// the rest of the group stand together. It returns -1 if a pod has none.
func (s *search) next() (r int, options [][]int) {
	r = -1
	for i, left := range s.left {
		if left == 0 {
			continue
		}
		o := s.options(i)
		if len(o) == 0 {
			return -1, nil
		}
		if r < 0 || len(o) < len(options) {
			r, options = i, o
		}
	}
	return r, options
}

func (s *search) options(r int) [][]int {
	var options [][]int
	index := make(map[string]int)
	lows := make([]int64, len(s.evens))
	for i := range s.evens {
		if s.evens[i].replicas == r && s.totals[i] != nil {
			lows[i] = s.lowest(i, false)
		}
	}
	var b []byte
	for c := range s.model.cells {
		if !s.fits(r, c, lows) {
			continue
		}
		b = b[:0]
		for k, d := range s.model.cells[c].domains {
			number := d
			if key := &s.keys[k]; !key.single && d != topology.None && s.touched[k][d] == 0 {
				number = -1 - key.alike[d]
			}
			b = binary.AppendVarint(b, int64(number))
		}
		for _, counted := range s.model.cells[c].counted {
			b = append(b, bit(counted))
		}
		at, ok := index[string(b)]
		if !ok {
			at = len(options)
			index[string(b)] = at
			options = append(options, nil)
		}
		options[at] = append(options[at], c)
	}
	slices.SortStableFunc(options, func(a, b []int) int { return cmp.Compare(s.crowd(r, a[0]), s.crowd(r, b[0])) })
	return options
}

// crowd returns how many pods are in a cell's domains that the replicas' constraints would have evenly spread.
func (s *search) crowd(r, c int) int64 {
	var sum int64
	for i := range s.evens {
		if e := &s.evens[i]; e.replicas == r && s.totals[i] != nil {
			sum += s.totals[i][s.model.cells[c].domains[e.key]]
		}
	}
	return sum
}

// fits reports whether a pod may go to a cell as far as can be told from the pods that are placed.
func (s *search) fits(r, c int, lows []int64) bool {
	cell := &s.model.cells[c]
	if !cell.takes[r] || s.forbidden[r][c] > 0 {
		return false
	}
	for k, pods := range s.parting[r] {
		if d := cell.domains[k]; pods != nil && d != topology.None && pods[d] > 0 {
			return false
		}
	}
	for i := range s.evens {
		if e := &s.evens[i]; e.replicas == r && s.totals[i] != nil {
			with := s.totals[i][cell.domains[e.key]]
			if e.SelfMatch {
				with++
			}
			if with-e.MaxSkew > lows[i] {
				return false
			}
		}
	}
	for i := range s.withs {
		if s.withs[i].replicas == r && !s.met(i, cell, 0, false) {
			return false
		}
	}
	return true
}

// met reports whether an affinity term of a pod in a cell is met or, unless all pods are placed, may still be. Own is 1 if
// the pod is placed itself. What depends on single keys is left to packing.
func (s *search) met(i int, cell *cell, own int, all bool) bool {
	w := &s.withs[i]
	r := &s.g.replicas[w.replicas]
	if s.company[i] == nil || s.exempt(w.replicas, own) {
		return true
	}
	d := cell.domains[w.key]
	if w.inhabited[d] || int(s.company[i][d])-own*count(r.wanted[w.replicas]) > 0 {
		return true
	}
	if all || !w.reachable[d] {
		return false
	}
	helpers := (own - 1) * count(r.wanted[w.replicas])
	for other, wanted := range r.wanted {
		if wanted {
			helpers += s.left[other]
		}
	}
	return helpers > 0
}

func count(v bool) int {
	if v {
		return 1
	}
	return 0
}

// exempt reports whether a pod is the first of a set that wants to be together, so that it may go wherever the keys are.
func (s *search) exempt(replicas, own int) bool {
	r := &s.g.replicas[replicas]
	if !r.self || s.found[replicas] > own {
		return false
	}
	for i := range s.withs {
		if w := &s.withs[i]; w.replicas == replicas && w.anywhere() {
			return false
		}
	}
	return true
}

// add puts a pod into a cell or, with by -1, takes it out again.
func (s *search) add(r, c int, by int) {
	cell := &s.model.cells[c]
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

// keyed reports whether the nodes of a cell have any of the keys of the replicas' affinity terms.
func (s *search) keyed(replicas int, cell *cell) bool {
	for i := range s.withs {
		if w := &s.withs[i]; w.replicas == replicas && cell.domains[w.key] != topology.None {
			return true
		}
	}
	return false
}

// lowest returns what a constraint's minimum is or, unless all pods are placed, the most that it may become.
func (s *search) lowest(i int, all bool) int64 {
	e := &s.evens[i]
	if e.Floor {
		return 0
	}
	low := e.minimum(s.totals[i])
	if all {
		return low
	}
	left := 0
	for r, matches := range e.matches {
		if matches {
			left += s.left[r]
		}
	}
	for e.frozen < 0 || low < e.frozen {
		for d, present := range e.Present {
			if present && s.totals[i][d] <= low {
				left--
			}
		}
		if left < 0 {
			break
		}
		low++
	}
	return low
}

// tenable reports whether the rules on keys that are not single hold for the placed pods or, unless all are placed, may
// still come to hold.
func (s *search) tenable(all bool) bool {
	for i := range s.evens {
		e := &s.evens[i]
		if s.totals[i] == nil {
			continue
		}
		low := s.lowest(i, all)
		for _, c := range s.cells {
			cell := &s.model.cells[c]
			if s.in[c][e.replicas] > 0 && s.totals[i][cell.domains[e.key]]+e.beside(cell.counted[i])-e.MaxSkew > low {
				return false
			}
		}
	}
	for i := range s.withs {
		for _, c := range s.cells {
			if s.in[c][s.withs[i].replicas] > 0 && !s.met(i, &s.model.cells[c], 1, all) {
				return false
			}
		}
	}
	return true
}

// beside returns 1 if a placed pod counts for its own decision but not where its node's pods are counted.
func (e *evenRule) beside(counted bool) int64 {
	if e.SelfMatch && !(e.matches[e.replicas] && counted) {
		return 1
	}
	return 0
}

// complete reports whether the placement of all pods satisfies every rule.
func (s *search) complete() bool {
	if !s.tenable(true) {
		return false
	}
	for _, c := range s.cells {
		if s.pack(c, true) == nil {
			return false
		}
	}
	return true
}

// pack returns how the pods of a cell find nodes there; nil if they do not, or the effort is over. Unless all pods are
// placed, it is enough that those which are may be part of a packing.
func (s *search) pack(c int, all bool) *packing {
	b := binary.AppendUvarint([]byte{bit(all)}, uint64(c))
	for r, n := range s.in[c] {
		b = binary.AppendUvarint(b, uint64(n))
		b = append(b, bit(all && n > 0 && s.exempt(r, 1)))
	}
	p, ok := s.packed[string(b)]
	if !ok {
		p = s.newPacking(c, all)
		if !p.place(0, 0) {
			p = nil
		}
		if p != nil || !s.effort.Over() {
			s.packed[string(b)] = p
		}
	}
	return p
}

func (s *search) spots() []Spot {
	var spots []Spot
	for _, c := range s.cells {
		spots = append(spots, s.pack(c, true).spots()...)
	}
	return spots
}
