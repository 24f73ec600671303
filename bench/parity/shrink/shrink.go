// Package shrink makes a failing case small.
//
// It works on the case as the tree that its file is: whatever can be taken out of the tree while the case still fails in
// the same way is taken out, large parts first. It knows nothing of Kubernetes; whether what is left still is a case that
// could come to be is for the caller's test to say.
package shrink

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// Case returns a case that still fails. Either nothing more can be removed from it, or fails was called as often as tries
// allows.
func Case(c *scenario.Case, tries int, fails func(*scenario.Case) bool) *scenario.Case {
	s := &shrinker{tries: tries, fails: fails, best: c}
	if !s.load() {
		return c
	}
	for s.tries > 0 && s.pass(s.tree, func(v any) { s.tree = v }) {
		// What was needed by a part that is gone may go too.
	}
	return s.best
}

type shrinker struct {
	tries int
	fails func(*scenario.Case) bool
	tree  any
	best  *scenario.Case
}

func (s *shrinker) load() bool {
	data, err := json.Marshal(s.best)
	return err == nil && json.Unmarshal(data, &s.tree) == nil
}

// holds reports whether the current tree still fails.
func (s *shrinker) holds() bool {
	if s.tries <= 0 {
		return false
	}
	s.tries--
	data, err := json.Marshal(s.tree)
	if err != nil {
		return false
	}
	c := new(scenario.Case)
	if json.Unmarshal(data, c) != nil || !s.fails(c) {
		return false
	}
	s.best = c
	return true
}

// pass tries to remove parts of a value, which set puts back into the tree, and reports whether it could.
func (s *shrinker) pass(value any, set func(any)) bool {
	switch v := value.(type) {
	case []any:
		return s.list(v, set)
	case map[string]any:
		return s.object(v)
	case float64:
		return s.number(v, set)
	}
	return false
}

// list removes runs of elements, half of the list first, then shrinks the remaining elements.
func (s *shrinker) list(v []any, set func(any)) bool {
	shrunk := false
	for run := max(1, len(v)/2); run > 0; run /= 2 {
		for at := 0; at+run <= len(v); {
			without := slices.Concat(v[:at], v[at+run:])
			set(without)
			if s.holds() {
				v, shrunk = without, true
			} else {
				set(v)
				at += run
			}
		}
	}
	for i := range v {
		if s.pass(v[i], func(x any) { v[i] = x }) {
			shrunk = true
		}
	}
	return shrunk
}

func (s *shrinker) object(v map[string]any) bool {
	shrunk := false
	for _, key := range slices.Sorted(maps.Keys(v)) {
		if key == "name" || key == "metadata" {
			// Names tie things together, and without one nothing is valid.
			if s.pass(v[key], func(x any) { v[key] = x }) {
				shrunk = true
			}
			continue
		}
		old := v[key]
		delete(v, key)
		if s.holds() {
			shrunk = true
			continue
		}
		v[key] = old
		if s.pass(old, func(x any) { v[key] = x }) {
			shrunk = true
		}
	}
	return shrunk
}

// number tries 1, which many a count can be.
func (s *shrinker) number(v float64, set func(any)) bool {
	if v <= 1 {
		return false
	}
	set(float64(1))
	if s.holds() {
		return true
	}
	set(v)
	return false
}
