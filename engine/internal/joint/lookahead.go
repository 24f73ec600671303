package joint

import (
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// fits reports whether a pod may go to a cell, given the assigned pods. Minimums are the highest values that the minimums of the
// constraints of these replicas can reach.
func (s *search) fits(r, c int, minimums []int64) bool {
	if !s.allows(r, c) {
		return false
	}
	cell := &s.cells[c]
	for i, counted := range s.spreads {
		if constraint := &s.spread[i]; constraint.replicas == r && counted != nil &&
			!counted.AllowsOver(minimums[i], counted.Counts()[cell.domains[constraint.key]]) {
			return false
		}
	}
	for i, counted := range s.counted {
		if counted != nil && s.others[i].replicas == r && counted.Excess(cell.node, 0) > 0 {
			return false
		}
	}
	for i := range s.terms {
		if s.terms[i].replicas == r && !s.attainable(i, cell, false) {
			return false
		}
	}
	return true
}

// allows reports whether a cell takes a pod, exclusions allow it there, and it has not been tried there.
func (s *search) allows(r, c int) bool {
	cell := &s.cells[c]
	if !cell.takes[r] || s.tried[r][c] > 0 {
		return false
	}
	for k, pods := range s.excluding[r] {
		if d := cell.domains[k]; pods != nil && d != topology.None && pods[d] > 0 {
			return false
		}
	}
	return true
}

// attainable reports whether an affinity term of a pod in a cell holds or can still become true. Terms with a single key are left to
// packing. assigned is set if the pod is assigned to the cell.
func (s *search) attainable(i int, cell *cell, assigned bool) bool {
	t := &s.terms[i]
	own := t.own() * count(assigned)
	if s.keys[t.key].single || s.first(t.replicas, cell, own) {
		return true
	}
	if s.affinities[t.replicas].Terms[t.at].MatchedWithout(cell.node, own) {
		return true
	}
	for other, matches := range t.matches {
		if matches && s.left[other] > 0 && (!assigned || s.reaches(other, t.key, cell.domains[t.key])) {
			return true
		}
	}
	return false
}

// reaches reports whether a pod can still come to a domain.
func (s *search) reaches(r, key int, domain int32) bool {
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

// first reports whether a pod in a cell is the first that matches its affinity terms, so that they hold wherever the keys
// are. It counts own among the pods that match.
func (s *search) first(r int, cell *cell, own int64) bool {
	a := s.affinities[r]
	return a != nil && a.FirstWithout(cell.node, own)
}

// highest returns the highest minimum that a constraint can reach.
func (s *search) highest(i int) int64 {
	left := 0
	for r, matches := range s.spread[i].matches {
		if matches {
			left += s.left[r]
		}
	}
	return s.spreads[i].HighestMinimum(left, s.spread[i].bound)
}

// tenable reports whether the rules on dividing keys hold for the assigned pods or can still come to hold.
func (s *search) tenable() bool {
	for i, counted := range s.spreads {
		if counted == nil {
			continue
		}
		constraint, minimum := &s.spread[i], s.highest(i)
		for _, c := range s.used {
			cell := &s.cells[c]
			others := counted.Counts()[cell.domains[constraint.key]] - constraint.own(cell.counted[i])
			if s.in[c][constraint.replicas] > 0 && !counted.AllowsOver(minimum, others) {
				return false
			}
		}
	}
	for i, counted := range s.counted {
		o := &s.others[i]
		for _, c := range s.used {
			if counted != nil && s.in[c][o.replicas] > 0 && counted.Excess(s.cells[c].node, -o.own()) > 0 {
				return false
			}
		}
	}
	for i := range s.terms {
		for _, c := range s.used {
			if s.in[c][s.terms[i].replicas] > 0 && !s.attainable(i, &s.cells[c], true) {
				return false
			}
		}
	}
	return true
}
