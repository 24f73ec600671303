package api

import (
	"slices"
	"strings"
)

// Label is a label: a key and its value.
type Label struct {
	Key, Value string
}

// Labels is a set of labels. Invariant: sorted by key, keys unique.
type Labels []Label

// LabelsOf returns the labels of a map.
func LabelsOf(m map[string]string) Labels {
	if len(m) == 0 {
		return nil
	}
	l := make(Labels, 0, len(m))
	for k, v := range m {
		l = append(l, Label{k, v})
	}
	slices.SortFunc(l, func(a, b Label) int { return strings.Compare(a.Key, b.Key) })
	return l
}

// Get returns the value of a label and whether it is present.
func (l Labels) Get(key string) (string, bool) {
	i, ok := slices.BinarySearchFunc(l, key, func(x Label, k string) int { return strings.Compare(x.Key, k) })
	if !ok {
		return "", false
	}
	return l[i].Value, true
}

// With returns the union of l and other; other overrides equal keys.
func (l Labels) With(other Labels) Labels {
	if len(other) == 0 {
		return l
	}
	merged := make(Labels, 0, len(l)+len(other))
	for len(l) > 0 && len(other) > 0 {
		switch c := strings.Compare(l[0].Key, other[0].Key); {
		case c < 0:
			merged, l = append(merged, l[0]), l[1:]
		case c > 0:
			merged, other = append(merged, other[0]), other[1:]
		default:
			merged, l, other = append(merged, other[0]), l[1:], other[1:]
		}
	}
	return append(append(merged, l...), other...)
}
