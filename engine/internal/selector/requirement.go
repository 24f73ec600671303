package selector

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
)

// Requirement is a compiled condition on one label.
type Requirement struct {
	Key      intern.ID
	operator api.Operator
	values   []intern.ID // sorted, unique; of In and NotIn
	bound    int64       // of GreaterThan and LessThan
}

// compileRequirement reports false if kube-scheduler cannot parse the requirement: the bound of GreaterThan or LessThan
// is not an integer, or a value is not a valid label value (k8s.io/apimachinery/pkg/labels NewRequirement, v0.37).
func compileRequirement(t *intern.Table, r api.Requirement) (Requirement, bool) {
	c := Requirement{Key: t.Intern(r.Key), operator: r.Operator}
	for _, v := range r.Values {
		if !validLabelValue(v) {
			return c, false
		}
	}
	switch r.Operator {
	case api.In, api.NotIn:
		c.values = make([]intern.ID, len(r.Values))
		for i, v := range r.Values {
			c.values[i] = t.Intern(v)
		}
		slices.Sort(c.values)
		c.values = slices.Compact(c.values)
	case api.GreaterThan, api.LessThan:
		bound, err := strconv.ParseInt(r.Values[0], 10, 64)
		if err != nil {
			return c, false
		}
		c.bound = bound
	}
	return c, true
}

// Matches reports whether a label with this value, or an absent one, meets the requirement. The value is of t.
func (r *Requirement) Matches(t *intern.Table, value intern.ID, present bool) bool {
	switch r.operator {
	case api.GreaterThan, api.LessThan:
		if !present {
			return false
		}
		v, err := strconv.ParseInt(t.Name(value), 10, 64)
		return err == nil && (v > r.bound && r.operator == api.GreaterThan || v < r.bound && r.operator == api.LessThan)
	}
	return r.met(value, present)
}

// met is Matches for the operators of label selectors.
func (r *Requirement) met(value intern.ID, present bool) bool {
	switch r.operator {
	case api.In:
		return present && r.has(value)
	case api.NotIn:
		return !present || !r.has(value)
	case api.Exists:
		return present
	}
	return !present
}

func (r *Requirement) has(value intern.ID) bool {
	if len(r.values) <= 8 {
		return slices.Contains(r.values, value)
	}
	_, ok := slices.BinarySearch(r.values, value)
	return ok
}

func (r *Requirement) appendKey(b []byte) []byte {
	b = append(b, byte(r.operator))
	b = binary.AppendUvarint(b, uint64(r.Key))
	b = binary.AppendVarint(b, r.bound)
	b = binary.AppendUvarint(b, uint64(len(r.values)))
	for _, v := range r.values {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return b
}

func (r *Requirement) shared(t *intern.Table) bool {
	return t.Shared(r.Key) && !slices.ContainsFunc(r.values, func(v intern.ID) bool { return !t.Shared(v) })
}
