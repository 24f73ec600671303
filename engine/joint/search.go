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
			s.totals[i] = slices.Clone(e.Counts)
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

// option is cells that are equal to the rest of the group.
type option struct {
	cells []int
	// unmet is how many affinity terms wait for other pods there, crowd how many pods are in domains that are to have equal
	// numbers.
	unmet, crowd int64
}

// next returns the replicas with the fewest places for a pod, and these places, the best first. It returns -1 if a pod
// has none.
func (s *search) next() (r int, options []option) {
	r = -1
	for i, left := range s.left {
		if left == 0 {
			continue
		}
		o, all := s.options(i, r, len(options))
		if all && (len(o) == 0 || s.scarce(i, o)) {
			return -1, nil
		}
		if all && (r < 0 || len(o) < len(options)) {
			r, options = i, o
		}
	}
	for i := range options {
		s.rank(r, &options[i])
	}
	slices.SortStableFunc(options, func(a, b option) int {
		return cmp.Or(cmp.Compare(a.unmet, b.unmet), cmp.Compare(a.crowd, b.crowd))
	})
	return r, options
}

// options returns the places for a pod, and whether these are all: if other replicas have been found to have few, it stops
// at as many.
func (s *search) options(r, other, few int) (options []option, all bool) {
	index := make(map[string]int)
	lows := make([]int64, len(s.evens))
	for i := range s.evens {
		if s.evens[i].replicas == r && s.totals[i] != nil {
			lows[i] = s.lowest(i)
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
			if key := &s.keys[k]; !key.single && s.touched[k][d] == 0 {
				number = -1 - key.alike[d]
			}
			b = binary.AppendVarint(b, int64(number))
		}
		for _, counted := range s.model.cells[c].counted {
			b = append(b, bit(counted))
		}
		at, ok := index[string(b)]
		if !ok {
			if at = len(options); other >= 0 && at == few {
				return nil, false
			}
			index[string(b)] = at
			options = append(options, option{})
		}
		options[at].cells = append(options[at].cells, c)
	}
	return options, true
}

// scarce reports whether there are too few domains for pods that cannot share any.
func (s *search) scarce(r int, options []option) bool {
	for _, k := range s.parted[r][r] {
		if s.keys[k].single {
			continue
		}
		domains := make(map[int32]bool)
		for _, o := range options {
			for _, c := range o.cells {
				domains[s.model.cells[c].domains[k]] = true
			}
		}
		if !domains[topology.None] && len(domains) < s.left[r] {
			return true
		}
	}
	return false
}

func (s *search) rank(r int, o *option) {
	cell := &s.model.cells[o.cells[0]]
	for i := range s.withs {
		w := &s.withs[i]
		if s.company[i] == nil {
			continue
		}
		d := cell.domains[w.key]
		waits := !w.inhabited[d] && s.company[i][d] == 0
		if w.replicas == r && waits && !s.exempt(r, 0) {
			o.unmet++
		}
		if s.g.replicas[w.replicas].wanted[r] && waits && s.touched[w.key][d] > 0 {
			o.unmet--
		}
	}
	for i := range s.evens {
		if e := &s.evens[i]; e.replicas == r && s.totals[i] != nil {
			o.crowd += s.totals[i][cell.domains[e.key]]
		}
	}
}

// fits reports whether a pod may go to a cell as far as can be told from the pods that are placed.
func (s *search) fits(r, c int, lows []int64) bool {
	if !s.allows(r, c) {
		return false
	}
	cell := &s.model.cells[c]
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
		if s.withs[i].replicas == r && !s.met(i, cell, 0) {
			return false
		}
	}
	return true
}

// allows reports whether neither the cell nor anti-affinity keeps a pod away, and it has not been tried.
func (s *search) allows(r, c int) bool {
	cell := &s.model.cells[c]
	if !cell.takes[r] || s.forbidden[r][c] > 0 {
		return false
	}
	for k, pods := range s.parting[r] {
		if d := cell.domains[k]; pods != nil && d != topology.None && pods[d] > 0 {
			return false
		}
	}
	return true
}

// met reports whether an affinity term of a pod in a cell is met or may still be. Own is 1 if the pod is placed itself. What
// depends on single keys is left to packing.
func (s *search) met(i int, cell *cell, own int) bool {
	w := &s.withs[i]
	r := &s.g.replicas[w.replicas]
	if s.company[i] == nil || s.exempt(w.replicas, own) {
		return true
	}
	d := cell.domains[w.key]
	if w.inhabited[d] || int(s.company[i][d])-own*count(r.wanted[w.replicas]) > 0 {
		return true
	}
	for other, wanted := range r.wanted {
		if wanted && s.left[other] > 0 && (own == 0 || s.comes(other, w.key, d)) {
			return true
		}
	}
	return false
}

// comes reports whether a pod may still come to a domain.
func (s *search) comes(r, key int, domain int32) bool {
	for _, c := range s.keys[key].cells[domain] {
		if !s.allows(r, c) {
			continue
		}
		if s.in[c] == nil {
			return true
		}
		s.in[c][r]++
		packed := s.pack(c, r, s.now[c])
		s.in[c][r]--
		if packed != nil {
			return true
		}
	}
	return false
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

// keyed reports whether the nodes of a cell have any of the keys of the replicas' affinity terms.
func (s *search) keyed(replicas int, cell *cell) bool {
	for i := range s.withs {
		if w := &s.withs[i]; w.replicas == replicas && cell.domains[w.key] != topology.None {
			return true
		}
	}
	return false
}

// lowest returns the most that a constraint's minimum may become.
func (s *search) lowest(i int) int64 {
	e := &s.evens[i]
	low := e.minimum(s.totals[i])
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

// tenable reports whether the rules on keys that are not single hold for the placed pods or may still come to hold.
func (s *search) tenable() bool {
	for i := range s.evens {
		e := &s.evens[i]
		if s.totals[i] == nil {
			continue
		}
		low := s.lowest(i)
		for _, c := range s.cells {
			cell := &s.model.cells[c]
			if s.in[c][e.replicas] > 0 && s.totals[i][cell.domains[e.key]]+e.beside(cell.counted[i])-e.MaxSkew > low {
				return false
			}
		}
	}
	for i := range s.withs {
		for _, c := range s.cells {
			if s.in[c][s.withs[i].replicas] > 0 && !s.met(i, &s.model.cells[c], 1) {
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
