package joint

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/topology"
)

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
