package joint

import (
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

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
		for d, present := range e.Present() {
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
