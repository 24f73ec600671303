package selector

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// Selector is a compiled label selector: all requirements must hold. A nil selector matches nothing, one without
// requirements everything.
type Selector struct {
	requirements []Requirement
}

// CompileSelector compiles a label selector; nil gives nil. A selector with a requirement that kube-scheduler cannot
// parse gives nil, too.
func CompileSelector(t *intern.Table, s *api.LabelSelector) *Selector {
	if s == nil {
		return nil
	}
	c := &Selector{requirements: make([]Requirement, 0, len(s.MatchLabels)+len(s.MatchExpressions))}
	for _, l := range s.MatchLabels {
		if !validLabelValue(l.Value) {
			return nil
		}
		c.requirements = append(c.requirements, equals(t, l.Key, l.Value))
	}
	for _, r := range s.MatchExpressions {
		compiled, ok := compileRequirement(t, r)
		if !ok {
			return nil
		}
		c.requirements = append(c.requirements, compiled)
	}
	return c
}

func equals(t *intern.Table, key, value string) Requirement {
	return Requirement{Key: t.Intern(key), operator: api.In, values: []intern.ID{t.Intern(value)}}
}

// And returns a selector with the requirements of both; nil if either is nil.
func (s *Selector) And(o *Selector) *Selector {
	if s == nil || o == nil {
		return nil
	}
	return &Selector{requirements: slices.Concat(s.requirements, o.requirements)}
}

// Overridden returns a selector with the requirements of o, and the requirements of s on keys without a requirement in o.
func (s *Selector) Overridden(o *Selector) *Selector {
	c := &Selector{requirements: slices.Clone(o.requirements)}
	for _, r := range s.requirements {
		if !slices.ContainsFunc(o.requirements, func(other Requirement) bool { return other.Key == r.Key }) {
			c.requirements = append(c.requirements, r)
		}
	}
	return c
}

// WithKeys returns the selector with an additional requirement per key that labels have: that the value is equal (In),
// or that it is not (NotIn). nil stays nil.
func (s *Selector) WithKeys(t *intern.Table, keys []string, operator api.Operator, labels Labels) *Selector {
	if s == nil || len(keys) == 0 {
		return s
	}
	c := &Selector{requirements: slices.Clone(s.requirements)}
	for _, key := range keys {
		k := t.Intern(key)
		if v, ok := labels.Get(k); ok {
			c.requirements = append(c.requirements, Requirement{Key: k, operator: operator, values: []intern.ID{v}})
		}
	}
	return c
}

// Label returns a label that all matching objects have, and whether the selector requires one.
func (s *Selector) Label() (Label, bool) {
	if s != nil {
		for i := range s.requirements {
			if r := &s.requirements[i]; r.operator == api.In && len(r.values) == 1 {
				return Label{r.Key, r.values[0]}, true
			}
		}
	}
	return Label{}, false
}

// Keys iterates over the keys of the requirements.
func (s *Selector) Keys() iter.Seq[intern.ID] {
	return func(yield func(intern.ID) bool) {
		if s == nil {
			return
		}
		for i := range s.requirements {
			if !yield(s.requirements[i].Key) {
				return
			}
		}
	}
}

// Empty reports whether the selector has no requirements, so that it matches everything.
func (s *Selector) Empty() bool { return s != nil && len(s.requirements) == 0 }

// Matches reports whether labels meet the selector.
func (s *Selector) Matches(l Labels) bool {
	if s == nil {
		return false
	}
	for i := range s.requirements {
		if !s.requirements[i].met(l.Get(s.requirements[i].Key)) {
			return false
		}
	}
	return true
}

// AppendKey appends a key. Selectors that were compiled with one table have equal keys only if they are equal.
func (s *Selector) AppendKey(b []byte) []byte {
	if s == nil {
		return append(b, 0)
	}
	b = binary.AppendUvarint(append(b, 1), uint64(len(s.requirements)))
	for i := range s.requirements {
		b = s.requirements[i].appendKey(b)
	}
	return b
}

// Shared reports whether the selector refers only to strings of the base of t.
func (s *Selector) Shared(t *intern.Table) bool {
	return s == nil || !slices.ContainsFunc(s.requirements, func(r Requirement) bool { return !r.shared(t) })
}

// Text returns a selector that was compiled with t in kubectl's notation; empty if it matches everything, "<none>" if
// nothing.
func (s *Selector) Text(t *intern.Table) string {
	if s == nil {
		return "<none>"
	}
	parts := make([]string, len(s.requirements))
	for i := range s.requirements {
		parts[i] = s.requirements[i].text(t)
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), ",")
}

// text returns the requirement in kubectl's notation.
func (r *Requirement) text(t *intern.Table) string {
	key := t.Name(r.Key)
	values := make([]string, len(r.values))
	for i, v := range r.values {
		values[i] = t.Name(v)
	}
	slices.Sort(values)
	switch r.operator {
	case api.In:
		if len(values) == 1 {
			return key + "=" + values[0]
		}
		return key + " in (" + strings.Join(values, ",") + ")"
	case api.NotIn:
		if len(values) == 1 {
			return key + "!=" + values[0]
		}
		return key + " notin (" + strings.Join(values, ",") + ")"
	case api.DoesNotExist:
		return "!" + key
	}
	return key
}
