package provision

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/internal/rule"
)

// active returns the templates that estimates use. A template is left out if another one dominates it: one that takes the same pods
// in the same domains, at least as many of them, with as much of every resource, for the same price or less.
func (s *solver) active(ctx context.Context) ([]int, error) {
	if s.activated != nil {
		return s.activated, nil
	}
	needs := s.everyNeed()
	domain := s.domains()
	same := make(map[digest][]int)
	var keys []digest
	var key []byte
	taken := make([]byte, (len(s.kinds)+7)/8)
	for t := range s.Templates {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		clear(taken)
		for i, k := range s.kinds {
			if s.takes(t, k) {
				taken[i/8] |= 1 << (i % 8)
			}
		}
		key = append(append(key[:0], taken...), domain(t)...)
		of := sha256.Sum256(key)
		if same[of] == nil {
			keys = append(keys, of)
		}
		same[of] = append(same[of], t)
	}
	s.activated = []int{}
	for _, of := range keys {
		list := same[of]
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(s.Templates[a].Price, s.Templates[b].Price) })
		var front []int
		for _, t := range list {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if s.most(t) > 0 && !slices.ContainsFunc(front, func(by int) bool { return s.dominates(by, t, needs) }) {
				front = append(front, t)
			}
		}
		s.activated = append(s.activated, front...)
	}
	slices.Sort(s.activated)
	return s.activated, nil
}

// everyNeed returns a need for each resource, in the order of their names.
func (s *solver) everyNeed() []*rule.Need {
	resources := make(map[string]*rule.Need)
	for _, k := range s.kinds {
		for i := range k.needs {
			resources[k.needs[i].Resource] = &k.needs[i]
		}
	}
	needs := make([]*rule.Need, 0, len(resources))
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		needs = append(needs, resources[name])
	}
	return needs
}

// dominates reports whether a template, which is not more expensive, has as much of everything as another one.
func (s *solver) dominates(by, t int, needs []*rule.Need) bool {
	return s.most(by) >= s.most(t) && !slices.ContainsFunc(needs, func(n *rule.Need) bool {
		return n.Room(s.first(by)) < n.Room(s.first(t))
	})
}
