package review

import (
	"math"
	"slices"
	"strconv"
)

// requirement is a requirement on a label, of a label selector or a node selector.
type requirement struct {
	key, operator string
	values        []string
}

// demand is the combined requirements on one label.
type demand struct {
	among           []string // the values of In, if limited
	limited         bool
	not             []string // the values of NotIn
	present, absent bool
	above, below    *int64 // the bounds of Gt and Lt
}

// contradiction returns the first label on which requirements exclude each other. It skips requirements that do not parse.
func contradiction(all []requirement) (key string, found bool) {
	demands := map[string]*demand{}
	var order []string
	for _, r := range all {
		d := demands[r.key]
		if d == nil {
			d = &demand{}
			demands[r.key] = d
			order = append(order, r.key)
		}
		d.add(r)
	}
	slices.Sort(order)
	for _, key := range order {
		if demands[key].excluded() {
			return key, true
		}
	}
	return "", false
}

func (d *demand) add(r requirement) {
	switch r.operator {
	case "In":
		if !d.limited {
			d.among, d.limited = slices.Clone(r.values), true
		} else {
			d.among = slices.DeleteFunc(d.among, func(v string) bool { return !slices.Contains(r.values, v) })
		}
		d.present = true
	case "NotIn":
		d.not = append(d.not, r.values...)
	case "Exists":
		d.present = true
	case "DoesNotExist":
		d.absent = true
	case "Gt", "Lt":
		if len(r.values) != 1 {
			return
		}
		v, err := strconv.ParseInt(r.values[0], 10, 64)
		if err != nil {
			return
		}
		d.present = true
		if r.operator == "Gt" && (d.above == nil || v > *d.above) {
			d.above = &v
		}
		if r.operator == "Lt" && (d.below == nil || v < *d.below) {
			d.below = &v
		}
	}
}

// excluded reports whether no label meets the demand.
func (d *demand) excluded() bool {
	gt, lt := d.above, d.below
	switch {
	case d.absent && d.present:
		return true
	case gt != nil && *gt == math.MaxInt64:
		return true
	case gt != nil && lt != nil && (*gt >= *lt || *gt+1 >= *lt):
		return true
	case !d.limited:
		return false
	}
	return !slices.ContainsFunc(d.among, d.meets)
}

// meets reports whether a value of In meets the other demands.
func (d *demand) meets(value string) bool {
	if slices.Contains(d.not, value) {
		return false
	}
	if d.above == nil && d.below == nil {
		return true
	}
	v, err := strconv.ParseInt(value, 10, 64)
	return err == nil && (d.above == nil || v > *d.above) && (d.below == nil || v < *d.below)
}
