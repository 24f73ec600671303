package joint

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/rule"
	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

// option is equivalent cells for a pod.
type option struct {
	cells []int
	// unmet is the number of affinity terms that would wait for other pods there, crowd the number of pods in the domains
	// of the pod's spread constraints.
	unmet, crowd int64
}

// next returns the replicas with the fewest options for a pod, and these options, the best first. It returns -1 if a pod
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

// options returns the options for a pod, and whether these are all. If other replicas have few, it stops at as many.
func (s *search) options(r, other, few int) (options []option, all bool) {
	numbers := make(map[string]int)
	minimums := make([]int64, len(s.spread))
	for i := range s.spread {
		if s.spread[i].replicas == r && s.spreads[i] != nil {
			minimums[i] = s.highest(i)
		}
	}
	var b []byte
	for c := range s.cells {
		if !s.fits(r, c, minimums) {
			continue
		}
		b = b[:0]
		for k, d := range s.cells[c].domains {
			id := int64(d)
			if key := &s.keys[k]; !key.single && s.touched[k][d] == 0 {
				id = -1 - int64(key.equivalent[d])
			}
			b = binary.AppendVarint(b, id)
		}
		at := number(numbers, appendBits(b, s.cells[c].counted))
		if at == len(options) {
			if other >= 0 && at == few {
				return nil, false
			}
			options = append(options, option{})
		}
		options[at].cells = append(options[at].cells, c)
	}
	return options, true
}

// scarce reports whether there are too few domains for pods that exclude each other.
func (s *search) scarce(r int, options []option) bool {
	for _, k := range s.exclusive[r][r] {
		if s.keys[k].single {
			continue
		}
		domains := make(map[int32]bool)
		for _, o := range options {
			for _, c := range o.cells {
				domains[s.cells[c].domains[k]] = true
			}
		}
		if !domains[topology.None] && len(domains) < s.left[r] {
			return true
		}
	}
	return false
}

func (s *search) rank(r int, o *option) {
	cell := &s.cells[o.cells[0]]
	for i := range s.terms {
		t := &s.terms[i]
		d := cell.domains[t.key]
		if s.keys[t.key].single || s.affinities[t.replicas].Terms[t.at].Level(d) == rule.WithMatch {
			continue
		}
		if t.replicas == r && !s.first(r, cell, 0) {
			o.unmet++
		}
		if t.matches[r] && d != topology.None && s.touched[t.key][d] > 0 {
			o.unmet--
		}
	}
	for i, counted := range s.spreads {
		if constraint := &s.spread[i]; constraint.replicas == r && counted != nil {
			o.crowd += counted.Counts()[cell.domains[constraint.key]]
		}
	}
}
